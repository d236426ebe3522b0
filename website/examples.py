"""For the Python reference: `Example:` in a docstring is read as the section that Google calls `Examples:`."""

import re
from typing import Any

import griffe


class ExampleSections(griffe.Extension):
    """Run over every object as its source is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the section where there is one."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"^(\s*)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE)
