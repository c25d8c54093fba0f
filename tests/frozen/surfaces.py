"""What programs and people call: the REST interface, the commands with their options, the names of docs/api.md.

Only the structure is recorded: titles, descriptions and help may be worded anew.
"""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from tests.frozen import doors

import maxentry
from evidence import __main__ as evidence
from maxentry.cli.main import app

ROOT = Path(__file__).parents[2]

# REST

WORDS = (
    "title",
    "description",
    "summary",
    "examples",
    "example",
    "operationId",
    "tags",
    "links",
    "discriminator",
)
LIMITS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
    "pattern", "default", "const", "format", "enum", "required", "additionalProperties", "uniqueItems",
)  # fmt: skip


def openapi() -> dict[str, Any]:
    """Paths, methods, parameters, bodies and answers of the REST interface, without words and names of schemas."""
    whole = doors.server("sqlite://").openapi()
    paths = {}
    for path, methods in whole["paths"].items():
        plain = re.sub(r"\{\w+\}", "{}", path)
        paths[plain] = {method: _operation(about, whole) for method, about in methods.items()}
    problem = _schema({"$ref": "#/components/schemas/ProblemDocument"}, whole, answer=True)
    paths = _with_name(paths, problem, "a problem document")
    return {
        "problem document": problem,
        "paths": paths,
        "security": sorted(whole["components"].get("securitySchemes", {})),
    }


def _with_name(x: Any, part: Any, name: str) -> Any:
    """Say the name wherever the part stands, which is often."""
    if x == part:
        return name
    return {key: _with_name(value, part, name) for key, value in x.items()} if isinstance(x, dict) else x


def _operation(about: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    parameters = {}
    for given in about.get("parameters", ()):
        name = given["name"] if given["in"] != "path" else "(path)"
        required = bool(given.get("required"))
        parameters[f"{given['in']} {name}"] = {
            "required": required,
            "schema": _schema(given["schema"], whole),
        }
    made: dict[str, Any] = {"parameters": parameters}
    if "requestBody" in about:
        body = about["requestBody"]
        contents = {kind: _schema(part.get("schema", {}), whole) for kind, part in body["content"].items()}
        made["body"] = {"needed": bool(body.get("required")), "content": contents}
    made["answers"] = {
        status: {
            kind: _schema(part.get("schema", {}), whole, answer=True)
            for kind, part in answer.get("content", {}).items()
        }
        for status, answer in about["responses"].items()
    }
    return made


def _schema(schema: Any, whole: dict[str, Any], *, answer: bool = False, within: tuple[str, ...] = ()) -> Any:
    """A schema with what it refers to in its place; of an answer only names and types."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if name in within:
            return "… (itself)"
        return _schema(whole["components"]["schemas"][name], whole, answer=answer, within=(*within, name))

    def inner(part: Any) -> Any:
        return _schema(part, whole, answer=answer, within=within)

    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in WORDS or (answer and key in LIMITS and key != "additionalProperties"):
            continue
        if key == "properties":
            required = schema.get("required", ())
            made[key] = {name: inner(part) for name, part in value.items()}
            if not answer:
                made["needed"] = sorted(required)
        elif key in ("anyOf", "oneOf", "allOf"):
            parts = [inner(part) for part in value]
            made["any of" if key != "allOf" else key] = sorted(parts, key=repr)
        elif key == "prefixItems":
            made[key] = [inner(part) for part in value]
        elif key in ("items", "additionalProperties"):
            if not (answer and isinstance(value, bool)):
                made[key] = inner(value)
        elif key != "required":
            made[key] = value
    if list(made) == ["allOf"] and len(made["allOf"]) == 1:
        return made["allOf"][0]
    return made


# Commands

EVIDENCE = ("study paper", "study suite", "study data")


def commands() -> dict[str, Any]:
    """Every command with its arguments and options."""
    return {name: about for name, about in _commands(app).items() if name not in EVIDENCE}


def evidence_commands() -> dict[str, Any]:
    """The commands of `python -m evidence` that rerun the evidence; they were commands of the package once."""
    known = {f"study {name}": about for name, about in _commands(evidence.app).items()}
    return {name: about for name, about in known.items() if name in EVIDENCE}


def _commands(app: typer.Typer) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def walk(command: Any, name: str) -> None:
        found[name or "maxentry"] = {key: _parameter(p) for key, p in _named(command.params).items()}
        for word, part in getattr(command, "commands", {}).items():
            walk(part, f"{name} {word}".strip())

    walk(typer.main.get_command(app), "")
    return found


def _named(parameters: list[Any]) -> dict[str, Any]:
    """Options by all their flags, arguments by their place."""
    arguments = [p for p in parameters if p.param_type_name == "argument"]
    return {
        f"argument {arguments.index(p) + 1}" if p in arguments else " ".join([*p.opts, *p.secondary_opts]): p
        for p in parameters
    }


def _parameter(p: Any) -> dict[str, Any]:
    default = p.default() if callable(p.default) else p.default
    default = getattr(default, "value", default)
    kind, choices = _kind(p)
    made = {
        "type": kind,
        "default": default if isinstance(default, bool | int | float | str | list | tuple) else None,
        "required": p.required,
        "nargs": p.nargs,
        "multiple": p.multiple,
        "metavar": p.metavar,
        "variable": p.envvar,
        "choices": choices,
        "least": p.min if hasattr(p, "min") else getattr(p.type, "min", None),
        "most": p.max if hasattr(p, "max") else getattr(p.type, "max", None),
    }
    unsaid = {"nargs": 1, "multiple": False, "choices": []}
    return {
        name: x for name, x in made.items() if x is not None and not (name in unsaid and x == unsaid[name])
    }


def _kind(p: Any) -> tuple[str, list[str]]:
    """What an option takes: text, number, whole number, truth or a choice. Versions of Typer keep it in two ways."""
    if hasattr(p, "type_descriptor"):
        kind = p.type_descriptor.annotation
        kind = get_args(kind)[0] if get_origin(kind) is list else kind
        if get_origin(kind) is Literal:
            return "choice", [str(choice) for choice in get_args(kind)]
        if inspect.isclass(kind) and issubclass(kind, Enum):
            return "choice", [str(choice.value) for choice in kind]
        return {str: "text", int: "whole number", float: "number", bool: "truth"}.get(kind, kind.__name__), []
    choices = [str(getattr(choice, "value", choice)) for choice in getattr(p.type, "choices", ())]
    known = {
        "integer": "whole number",
        "integer range": "whole number",
        "float": "number",
        "boolean": "truth",
    }
    return known.get(p.type.name, p.type.name if not choices else "choice").replace(
        "float range", "number"
    ), choices


# Names

MADE_BY_USERS = (
    "Observations",
    "Sampling",
    "Priors",
    "InverseGamma",
    "BayesianCompleter",
    "NuclearNormCompleter",
    "Settings",
)
# Public by their spelling, but made from things that users do not have.
NOT_PROMISED = {
    "Posterior": {"save_rest"},
    "Sampling": {"resolve", "in_memory", "scout", "betas"},
    "RankChoice": {"allot"},
    "Diagnostics": {"in_group"},
    "Status": {"from_state"},
    "Completion": {"form", "effects"},
    "Prediction": {"frame_kind"},
}


def names() -> dict[str, Any]:
    """What docs/api.md names, by the last part of each name, with signatures and members."""
    found: dict[str, Any] = {"maxentry": {"all": dict.fromkeys(sorted(maxentry.__all__), "name")}}
    for dotted, members in documented():
        thing, name = _fetch(dotted), dotted.rpartition(".")[2]
        if inspect.ismodule(thing):
            public = getattr(thing, "__all__", None) or [
                k for k, v in vars(thing).items() if _own_class(v, thing)
            ]
            found[name] = {part: _about(getattr(thing, part), None) for part in sorted(public)}
        else:
            found[name] = _about(thing, members)
    found["connect()"] = _about(doors.REMOTE_CAMPAIGN, None)
    return found


def documented() -> list[tuple[str, list[str] | None]]:
    """The dotted names of docs/api.md, and the members that it lists where it does."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    found = []
    for part in re.split(r"^::: ", text, flags=re.M)[1:]:
        listed = re.search(r"^ +members: \[(.*)\]", part, flags=re.M)
        members = None if listed is None else [name.strip() for name in listed[1].split(",") if name.strip()]
        found.append((part.split()[0], members))
    return found


def _own_class(thing: Any, module: Any) -> bool:
    return inspect.isclass(thing) and thing.__module__ == module.__name__


def _fetch(dotted: str) -> Any:
    home, _, name = dotted.rpartition(".")
    module = importlib.import_module(home)
    return getattr(module, name) if hasattr(module, name) else importlib.import_module(dotted)


def _about(thing: Any, members: list[str] | None) -> dict[str, Any]:
    if not inspect.isclass(thing):
        return {"call": _signature(thing)}
    if issubclass(thing, Exception):
        return {"is a": dict.fromkeys((base.__name__ for base in thing.__mro__[1:-1]), True)}
    skipped = NOT_PROMISED.get(thing.__name__, set())
    made: dict[str, Any] = {"call": _signature(thing)} if thing.__name__ in MADE_BY_USERS else {}
    own_fields: list[str] = []
    if is_dataclass(thing):
        own_fields = [f.name for f in fields(thing) if not f.name.startswith("_") and f.name not in skipped]
    elif hasattr(thing, "_fields"):
        own_fields = list(thing._fields)
    own = [name for base in thing.__mro__ if base.__module__.startswith("maxentry") for name in vars(base)]
    public = sorted({n for n in own if not n.startswith("_")} - skipped - set(own_fields))
    if own_fields and (members is None or thing.__name__ in MADE_BY_USERS):
        made["fields"] = dict.fromkeys(own_fields, "value")
    made["members"] = {n: _member(thing, n) for n in (public if members is None else members)}
    return made


def _member(owner: type, name: str) -> Any:
    raw = inspect.getattr_static(owner, name)
    value = getattr(owner, name)
    if not callable(value) or isinstance(raw, property):
        return "value"
    bound = isinstance(raw, classmethod | staticmethod)
    return {"of the class" if bound else "call": _signature(value)}


def _signature(thing: Any) -> dict[str, Any]:
    """Each parameter with its place, where it may be given by position, and its default; types are not part of it."""
    found = {}
    for place, p in enumerate(p for p in inspect.signature(thing).parameters.values() if p.name != "self"):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            found["*" * (1 if p.kind is p.VAR_POSITIONAL else 2) + p.name] = {}
            continue
        about: dict[str, Any] = {} if p.kind is p.KEYWORD_ONLY else {"place": place}
        found[p.name] = about | (
            {"required": True} if p.default is p.empty else {"default": _default(p.default)}
        )
    return found


def _default(value: Any) -> str:
    plain = value is None or type(value) in (bool, int, float, str, tuple)
    return repr(value) if plain else getattr(value, "__name__", "…")
