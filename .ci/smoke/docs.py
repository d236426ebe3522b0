"""What builds the site is there."""

import material
import mkdocs
import mkdocstrings

assert all(one.__name__ for one in (material, mkdocs, mkdocstrings))
