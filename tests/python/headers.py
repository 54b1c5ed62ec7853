"""Reads include/mawam/*.h as far as their plain style goes: structs with their fields, functions with their arguments.

The tests compare what the package declares in mawam/_structs.py and _functions.py with this, so that a header
that changes fails there; run as a program (`make declarations`) it writes the declarations anew.
"""
import importlib.util
import re
import textwrap
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, NamedTuple, Tuple

SOURCE = Path(__file__).resolve().parents[2]
PACKAGE = SOURCE / "python" / "mawam"


class Declarations(NamedTuple):
    structs: Dict[str, List[Tuple[str, str, str]]]  # name -> (kind, field, length); "" is no array, "a][b" has two
    functions: Dict[str, Tuple[str, List[str]]]  # name -> (kind of the result, kinds of the arguments)
    constants: Dict[str, int]  # of enums
    study: List[str]  # functions of libmawam-study: those of headers that mawam.h does not include


NUMBERS = {
    "int": "int", "long": "long", "size_t": "size", "bool": "bool", "double": "double", "float": "float",
    "uint64_t": "uint64", "uint8_t": "uint8", "unsigned": "unsigned", "int32_t": "int32", "void": "void",
}


INCLUDE = SOURCE / "include" / "mawam"


def _text(names: Iterable[str] = ()) -> str:
    """Of the named headers, or of all, without comments and directives."""
    paths = [INCLUDE / name for name in names] or sorted(INCLUDE.glob("*.h"))
    text = "\n".join(path.read_text() for path in paths)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", " ", text, flags=re.M)


def _constants(text: str) -> Dict[str, int]:
    constants: Dict[str, int] = {}
    for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", text, flags=re.S):
        value = -1
        for item in filter(None, map(str.strip, body.split(","))):
            name, _, given = map(str.strip, item.partition("="))
            value = int(given) if given else value + 1
            constants[name] = value
    return constants


def _kind(declaration: str, enums: List[str]) -> str:
    """Of one type, as the package spells it: "text" is a const char pointer, "pointer" any other."""
    words = declaration.replace("*", " * ").split()
    if "*" in words:
        return "text" if [w for w in words if w != "const"] == ["char", "*"] and words[0] == "const" else "pointer"
    name = [w for w in words if w not in ("const", "volatile", "MW_API")][-1]
    if name in enums:
        return "status" if name == "mw_status" else "int"
    return NUMBERS.get(name, name)


def _fields(body: str, enums: List[str]) -> List[Tuple[str, str, str]]:
    fields = []
    body = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"* \1", body)  # a pointer to a function is a pointer
    for line in filter(None, (part.strip() for part in body.split(";"))):
        first, *others = line.split(",")
        base = re.match(r"(?:(?:const|volatile)\s+)*\w+", first).group(0)
        for declarator in [first[len(base):]] + others:
            match = re.match(r"([\s*]*(?:const)?[\s*]*)(\w+)\s*((?:\[[^\]]*\])*)$", declarator)
            stars, name, length = match.group(1), match.group(2), match.group(3)[1:-1]
            kind = "char" if base == "char" and not stars.strip() else _kind(base + stars, enums)
            fields.append((kind, name, length))
    return fields


def _arguments(text: str, enums: List[str]) -> List[str]:
    text = re.sub(r"\(\*(\w+)\)\[\d+\]", r"* \1", text)  # float (*places)[2]
    kinds = []
    for argument in filter(None, (part.strip() for part in text.split(","))):
        if argument == "...":
            kinds.append("...")
        elif argument != "void":
            argument = re.sub(r"(\w+)\[\w*\]$", r"*\1", argument)
            kinds.append(_kind(re.sub(r"\w+$", "", argument), enums))
    return kinds


def read() -> Declarations:
    text = _text()
    enums = re.findall(r"typedef enum (\w+)", text)
    bodies = re.findall(r"typedef struct (\w+) \{(.*?)\}\s*\w+;", text, flags=re.S)
    structs = {name: _fields(body, enums) for name, body in bodies}
    functions = {}
    for result, name, arguments in re.findall(r"MW_API\s+([^;{(]*?)(mw_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)", text):
        functions[name] = (_kind(result, enums), _arguments(arguments, enums))
    first = re.findall(r'#include "mawam/(\w+\.h)"', (INCLUDE / "mawam.h").read_text())
    rest = sorted({path.name for path in INCLUDE.glob("*.h")} - set(first) - {"mawam.h"})
    study = re.findall(r"MW_API\s+[^;{(]*?(mw_\w+)\s*\(", _text(rest))
    return Declarations(structs, functions, _constants(text), study)


# ---- writing ---------------------------------------------------------------------------------------------------------


def left_out() -> Dict[str, str]:
    """What the package does without, read without loading the library."""
    spec = importlib.util.spec_from_file_location("functions", PACKAGE / "_functions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LEFT_OUT


def _struct_lines(name: str, declared: Declarations) -> Iterator[str]:
    """Neighbouring fields of one kind share a line."""
    rows: List[List[str]] = []
    for kind, field, length in declared.structs[name]:
        item = f"{field}[{declared.constants.get(length, length)}]" if length else field
        if rows and rows[-1][0] == kind:
            rows[-1].append(item)
        else:
            rows.append([kind, item])
    yield f"{name}:"
    for kind, *items in rows:
        for line in textwrap.wrap(" ".join(items), 100 - len(kind)):
            yield f"    {kind} {line}"


def _in_order(declared: Declarations, without: Dict[str, str]) -> List[str]:
    """Structs that are part of others first."""
    order: List[str] = []

    def put(name: str) -> None:
        for kind, _, _ in declared.structs[name]:
            if kind in declared.structs:
                put(kind)
        if name not in order:
            order.append(name)

    for name in declared.structs:
        if name not in without:
            put(name)
    return order


def _replace(file: str, name: str, lines: List[str]) -> None:
    path, content = PACKAGE / file, "\n".join(lines)
    path.write_text(re.sub(f'^{name} = """.*?^"""', lambda _: f'{name} = """\n{content}\n"""', path.read_text(),
                           flags=re.S | re.M))


def write() -> None:
    """Puts the headers' structs and functions into the package; what is left out stays so."""
    declared, without = read(), left_out()
    _replace("_structs.py", "STRUCTS", [line for name in _in_order(declared, without)
                                        for line in _struct_lines(name, declared)])
    for table, study in (("FUNCTIONS", False), ("STUDY_FUNCTIONS", True)):
        _replace("_functions.py", table, [f"{result} {name}({', '.join(arguments)})" for name, (result, arguments)
                                          in declared.functions.items()
                                          if name not in without and (name in declared.study) == study])


if __name__ == "__main__":
    write()
