"""The schemas: named, standing alone, valid for every validator; in SchemaStore's form."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from scripts.pages.schemas import read_schemas
from support import ROOT, envcfg

SCHEMAS = read_schemas()
PROFILE = ROOT / "profiles/schema.json"
ENTRY = ROOT / "packaging/schemastore/catalog-entry.json"


def check(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a validator whose patterns are ECMA's, as those of editors are."""
    return subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_named_and_needs_no_other_file(name: str) -> None:
    schema = json.loads(SCHEMAS[name])
    version = schema.get("properties", {}).get("schema_version", {}).get("const", 1)
    assert schema["$id"] == f"urn:envcfg:{name}:{version}"
    # No registry, no file beside it: whatever it refers to is in it.
    Draft202012Validator(schema).is_valid({})
    assert ".schema.json" not in SCHEMAS[name]


def test_all_are_schemas_for_validators_of_editors() -> None:
    paths = sorted((ROOT / "docs").glob("*.schema.json"))
    done = check("--check-metaschema", PROFILE, *paths)
    assert done.returncode == 0, done.stdout


def test_output_is_valid_where_the_schema_is_copied_to(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#SBATCH --nodes=2\nexport RANK=$SLURM_PROCID\n")
    for name, words in {
        "wrap": ["wrap", "--profile", "lumi-g", "--container", "x.sif", "--json"],
        "findings": ["lint", "--json", str(tmp_path / "job.sh")],
    }.items():
        (tmp_path / "out.json").write_text(envcfg(*words).text)
        (tmp_path / "schema.json").write_text(SCHEMAS[name])
        done = check("--schemafile", tmp_path / "schema.json", tmp_path / "out.json")
        assert done.returncode == 0, done.stdout


def test_the_schema_of_profiles_has_the_name_that_its_catalog_gives() -> None:
    entry = json.loads(ENTRY.read_text())
    assert set(entry) == {"name", "description", "fileMatch", "url"}
    assert json.loads(PROFILE.read_text())["$id"] == entry["url"]
    assert all(each.endswith("/profiles/*.yaml") for each in entry["fileMatch"])
