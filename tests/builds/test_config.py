"""The file of builds: what it may say, what of a client's values goes into the command, and clear errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.program import streamres

from streamres.builds import ConfigError, read_config
from streamres.builds.arguments import command_of
from streamres.errors import ToolError

EXAMPLE = Path(__file__).parents[2] / "examples" / "builds.toml"
TEST = """
[[build]]
name = "test"
command = ["make", "-C", "{folder}", "TARGET={target}", "{verbose}", "-j{jobs}"]
[build.arguments.folder]
pattern = "[a-z/-]+"
[build.arguments.target]
choices = ["unit", "all"]
default = "all"
[build.arguments.verbose]
type = "boolean"
default = false
[build.arguments.jobs]
type = "integer"
default = 4
"""


BUILD = "[[build]]\nname = 'a'\ncommand = ['a']\n"
FLAGS = """
[[build]]
name = "flags"
command = ["run", "{one}{two}", "x{one}", "--{one}", "{three}"]
[build.arguments.one]
[build.arguments.two]
[build.arguments.three]
allow_dash = true
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "builds.toml"
    path.write_text(text)
    return path


def test_the_example_is_one() -> None:
    assert [build.name for build in read_config(EXAMPLE)] == ["test", "count"]


def test_values_are_parts_of_words(tmp_path: Path) -> None:
    (build,) = read_config(written(tmp_path, TEST))

    def command(**given: object) -> tuple[str, ...]:
        return command_of(build.command, build.arguments, given)

    assert command(folder="src") == ("make", "-C", "src", "TARGET=all", "false", "-j4")
    assert command(folder="a/b", target="unit", verbose=True, jobs=-1)[2:] == (
        "a/b",
        "TARGET=unit",
        "true",
        "-j-1",
    )
    assert build.cwd == tmp_path


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "folder: string, matches [a-z/-]+ is missing"),
        ({"folder": "a", "other": "b"}, "there is no argument 'other'"),
        ({"folder": "-rf"}, "begins with '-'"),
        ({"folder": "a; rm"}, "does not match"),
        ({"folder": "$(id)"}, "does not match"),
        ({"folder": "a\n"}, "cannot be printed"),
        ({"folder": "a\0"}, "cannot be printed"),
        ({"folder": "a" * 1_001}, "longer than 1000"),
        ({"folder": 1}, "is no string"),
        ({"folder": "a", "target": "none"}, "is none of unit, all"),
        ({"folder": "a", "jobs": True}, "is no integer"),
        ({"folder": "a", "jobs": "4"}, "is no integer"),
        ({"folder": "a", "verbose": "yes"}, "is no boolean"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused(tmp_path: Path, given: dict[str, object], why: str) -> None:
    (build,) = read_config(written(tmp_path, TEST))

    with pytest.raises(ToolError) as refused:
        command_of(build.command, build.arguments, given)

    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no table [[build]]"),
        ("x = 1", "there is no key 'x'"),
        ("[[build]", "Expected"),
        ("[[build]]\ncommand = ['a']", "build 1: name is missing"),
        ("[[build]]\nname = 'a'", "build 1 (a): command is missing"),
        ("[[build]]\nname = 'a b'\ncommand = ['a']", "name is 1 to 64"),
        ("[[build]]\nname = 'a'\ncommand = 'make'", "command is a list of words"),
        ("[[build]]\nname = 'a'\ncommand = []", "command is a list of words"),
        ("[[build]]\nname = 'a'\ncommand = ['{x}']", "which program is run is not an argument"),
        ("[[build]]\nname = 'a'\ncommand = ['a', '{x}']", "command: {x} is no argument"),
        ("[[build]]\nname = 'a'\ncommand = ['a']\n[build.arguments.x]", "command: the argument 'x' is not in it"),
        ("[[build]]\nname = 'a'\ncommand = ['a']\ntimeout_s = 0", "timeout_s is above 0"),
        ("[[build]]\nname = 'a'\ncommand = ['a']\ncwd = 'nowhere'", "cwd is no folder"),
        ("[[build]]\nname = 'a'\ncommand = ['a']\nshell = true", "there is no key 'shell'"),
        ("[[build]]\nname = 'a'\ncommand = ['a']\n[build.env]\nA = 1", "env.'A' is a text"),
        ("[[build]]\nname = 'a'\ncommand = ['a']\n[[build]]\nname = 'a'\ncommand = ['b']", "two builds 'a'"),
        (BUILD + "timeout_s = nan", "timeout_s is above 0"),
        (BUILD + "timeout_s = inf", "at most 604800"),
        (BUILD + "concurrency = true", "concurrency is an integer"),
        (BUILD + "concurrency = 0", "concurrency is at least 1"),
        (BUILD + "[build.env]\n'A=B' = ''", "env.'A=B' is no name of a variable"),
        (BUILD + '[build.env]\nA = "\\u0000"', "env.'A' is a text without NUL"),
        ("[[build]]\nname = 'a'\ncommand = [\"a\\u0000\"]", "command is a list of words"),
        ('[[build]]\nname = "a\\nb"\ncommand = ["a"]', "build 1: name is 1 to 64"),
        (
            "[[build]]\nname = 'a'\ncommand = ['bash', '-ec', 'ls {x}']\n[build.arguments.x]",
            "{x} in a shell's script",
        ),
        (BUILD + '[build.arguments."x\\ny"]', "argument 'x\\ny': an argument is a table"),
        (TEST.replace('["unit", "all"]', "[]"), "choices is empty"),
        (
            TEST.replace('type = "integer"', 'type = "integer"\npattern = "[0-9]"'),
            "pattern is for the type string",
        ),
        (TEST.replace("[a-z/-]+", "["), "pattern is no regular expression"),
        (TEST.replace('default = "all"', 'default = "none"'), "'none' is none of"),
        (TEST.replace('type = "boolean"', 'type = "flag"'), "type is one of"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_its_place(tmp_path: Path, text: str, why: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(ConfigError) as refused:
        read_config(path)

    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)
    assert why in str(refused.value)


def test_a_value_becomes_an_option_only_where_the_file_says_so(tmp_path: Path) -> None:
    (build,) = read_config(written(tmp_path, FLAGS))

    def command(one: str, two: str, three: str = "") -> tuple[str, ...]:
        return command_of(build.command, build.arguments, {"one": one, "two": two, "three": three})

    assert command("a", "-b", "-c") == ("run", "a-b", "xa", "--a", "-c")
    assert command("; rm -rf $(id) `id`", "|&>") == (
        "run",
        "; rm -rf $(id) `id`|&>",
        "x; rm -rf $(id) `id`",
        "--; rm -rf $(id) `id`",
        "",
    )
    assert command("{two}", "b")[1] == "{two}b", "what stands in a value is not looked at again"
    for one, two, named in (("-a", "b", "one"), ("", "-b", "two")):
        with pytest.raises(ToolError, match=f"argument {named} begins with '-'"):
            command(one, two)


def test_serve_says_it_in_one_line_and_ends(tmp_path: Path) -> None:
    for options in (["--port", "0"], ["--stdio"]):
        done = streamres("serve", *options, "--store", "memory:", "--config", str(tmp_path / "none.toml"))

        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert b"none.toml" in done.stderr
