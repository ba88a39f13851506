"""Programs that make files of this repository; none of them is part of the product."""
