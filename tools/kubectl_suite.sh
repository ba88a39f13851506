#!/usr/bin/env bash
# Runs functions of Kubernetes' own kubectl suite in a copy of its tree, which is the working folder, and records every check.
#
#   kubectl_suite.sh FUNCTION...
#
# The suite ends a function at its first failure. Here a function goes on, so that each check has its own verdict and two
# clusters can be compared check by check. A record has four parts, each ended by a NUL: verdict, place, what, output.
#
# Given: SECURE_API_PORT and TOKEN of the cluster; THIS_PLATFORM_BIN, the folder of kubectl; KUBE_TEMP, a folder for
# whatever is written; RECORDS, the file of records; OUTPUT, the file that this script's output goes to.

tput() { :; }

export HOME="${KUBE_TEMP}" TMPDIR="${KUBE_TEMP}" KUBE_JUNIT_REPORT_DIR="${KUBE_TEMP}/reports" SUPPORTED_RESOURCES="*"
source hack/lib/logging.sh
source hack/lib/util.sh
source hack/lib/test.sh
kube::util::ensure-gnu-sed
source test/cmd/legacy-script.sh
set +o errexit

STRICT=
# The suite turns failing commands on and off as errors; this remembers what it said and keeps the shell running.
set() {
  case "$*" in
    "-o errexit") STRICT=1 ;;
    "+o errexit") STRICT= ;;
    *) builtin set "$@" ;;
  esac
}

record() { # verdict, place, what, output
  printf '%s\0%s\0%s\0%s\0' "$1" "$2" "$3" "$4" >> "${RECORDS}"
}

INSIDE=
# Calls a check of the suite and records its outcome, which is never an error. A check that another calls is not counted.
checked() { # name of the check, its arguments...
  local name=$1 place said verdict=passed
  shift
  if [[ -n "${INSIDE}" ]]; then
    "uncounted::${name}" "$@"
    return
  fi
  local INSIDE=1
  place="$(basename "${BASH_SOURCE[2]}"):${BASH_LINENO[1]}"
  said=$("uncounted::${name}" "$@" 2>&1) || verdict=failed
  echo "${said}"
  record "${verdict}" "${place}" "${name#kube::test::}" "${said}"
}

counted() { # name of a check
  eval "uncounted::$(declare -f "$1")"
  eval "$1() { checked $1 \"\$@\"; }"
}
for each in $(compgen -A function kube::test:: | grep -E '(assert|_string|_order|results::diff)$'); do
  counted "${each}"
done

# What fails outside of a check fails the script; what fails within $( ) is judged where its output is used.
failed() { # exit code
  if [[ -n "${STRICT}" && -z "${INSIDE}" && "${BASH_SUBSHELL}" == 1 ]]; then
    record failed "$(basename "${BASH_SOURCE[1]}"):${BASH_LINENO[0]}" "exit code $1: ${BASH_COMMAND}" "$(tail -n 12 "${OUTPUT}")"
  fi
}

played() { # name of a function
  builtin set -o errtrace
  trap 'failed $?' ERR
  "$1"
  record ended "" "$1" ""
}

# The words for fields that the suite's scripts share.
eval "$(sed -n 's/^ *\(export [a-z0-9_]*=.*\)$/\1/p' test/cmd/legacy-script.sh)"
kube_flags=(-s "https://127.0.0.1:${SECURE_API_PORT}" --insecure-skip-tls-verify)
kube_flags_without_token=("${kube_flags[@]}")
kube_flags_with_token=("${kube_flags[@]}" "--token=${TOKEN}")
CONTEXT=test
kubectl config set-credentials test-admin --token "${TOKEN}"
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:${SECURE_API_PORT}"
kubectl config set-context "${CONTEXT}" --user test-admin --cluster local
kubectl config use-context "${CONTEXT}"
# With an annotation there is something that a field manager can own.
kubectl get nodes/127.0.0.1 || kubectl create -f - << __EOF__
{"kind": "Node", "apiVersion": "v1",
 "metadata": {"name": "127.0.0.1", "annotations": {"save-managers": "true"}}, "status": {"capacity": {"memory": "1Gi"}}}
__EOF__

kubectl create -f hack/testdata/kubernetes-service.yaml # it may be there

for each in "$@"; do
  builtin set +o nounset
  record started "" "${each}" ""
  (played "${each}")
done
kube::test::clear_all
