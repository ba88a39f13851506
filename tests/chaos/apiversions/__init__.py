"""Versions of an API in trouble: conversion, attaching, migrations, certificates, commands and upgrades."""
