"""Files of task graphs for tests: the same small graph in every format, and what makes others of it.

``a`` (1 GFLOP) gives 100 bytes to ``b`` (2 GFLOP) and only goes before ``c`` (3 GFLOP).
"""

from __future__ import annotations

import copy
import json
from typing import Any

SPEED = 46.875

WFFORMAT: dict[str, Any] = {
    "name": "small",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"id": "a", "name": "first", "parents": [], "children": ["b"], "outputFiles": ["x", "y", "z"]},
                {"id": "b", "name": "other", "parents": ["a"], "children": [], "inputFiles": ["x", "y", "w"]},
                {"id": "c", "name": "other", "parents": ["a"], "children": []},
            ],
            "files": [
                {"id": "x", "sizeInBytes": 60},
                {"id": "y", "sizeInBytes": 40},
                {"id": "z", "sizeInBytes": 7},
                {"id": "w", "sizeInBytes": 1000},
            ],
        },
        "execution": {
            "tasks": [
                {"id": "c", "runtimeInSeconds": 3 / SPEED},
                {"id": "a", "runtimeInSeconds": 1 / SPEED},
                {"id": "b", "runtimeInSeconds": 2 / SPEED},
            ]
        },
    },
}

DAX = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- generated -->
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" jobCount="3">
  <job id="a" name="first" runtime="{1 / SPEED!r}">
    <uses file="x" link="output" size="60"/>
    <uses file="y" link="output" size="40"/>
    <uses file="z" link="output" size="7"/>
  </job>
  <job id="b" name="other" runtime="{2 / SPEED!r}">
    <uses file="x" link="input" size="60"/>
    <uses file="y" link="input" size="40"/>
    <uses file="w" link="input" size="1000"/>
  </job>
  <job id="c" name="other" runtime="{3 / SPEED!r}"/>
  <child ref="b"><parent ref="a"/></child>
  <child ref="c"><parent ref="a"/></child>
</adag>
"""

DOT = """// three tasks
digraph small {
  a [size="1e9"];
  b [size="2e9"]; c [flops="3e9"];
  a -> b [size="100"];
  a -> c;
}
"""

GRAPHML = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="flops" attr.type="double"/>
  <key id="d1" for="edge" attr.name="bytes" attr.type="long"/>
  <graph edgedefault="directed">
    <node id="a"><data key="d0">1e9</data></node>
    <node id="b"><data key="d0">2e9</data></node>
    <node id="c"><data key="d0">3e9</data></node>
    <edge source="a" target="b"><data key="d1">100</data></edge>
    <edge source="a" target="c"/>
  </graph>
</graphml>
"""


def wfformat(*path_and_value: Any) -> str:
    """The small workflow as JSON, with the value at a path of keys replaced, or taken out where it is ``...``."""
    document = copy.deepcopy(WFFORMAT)
    if path_and_value:
        *path, last, value = path_and_value
        holder: Any = document
        for key in path:
            holder = holder[key]
        if value is ...:
            del holder[last]
        else:
            holder[last] = value
    return json.dumps(document)


#: Format → the small graph's text.
TEXTS = {"wfformat": wfformat(), "dax": DAX, "dot": DOT, "graphml": GRAPHML}

#: Format → endings of names that promise it.
ENDINGS = {"wfformat": ["json"], "dax": ["xml", "dax"], "dot": ["dot", "gv"], "graphml": ["graphml", "xml"]}
