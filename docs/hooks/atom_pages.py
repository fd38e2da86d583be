"""Adds the catalogue of atoms to the site: pages per family, template and name."""

from __future__ import annotations

from functools import partial

import atom_catalogue
import atom_linear
import atom_mma
import atom_names
import atom_sizes
import atom_templates
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SECTION = "What does an Xe atom or message do?"
FOLDER = "atoms/catalogue"
PAGES = {
    **{key: partial(atom_catalogue.family_page, key) for key in atom_catalogue.FAMILIES},
    "templates": atom_templates.page,
    "linear": atom_linear.page,
    "mma": atom_mma.page,
    "names": atom_names.overview,
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages in the navigation, under the section on atoms."""
    catalogue = {"Catalogue": [f"{FOLDER}/{key}.md" for key in PAGES]}
    for item in config.nav or []:
        if isinstance(item, dict) and SECTION in item:
            item[SECTION].append(catalogue)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Create the pages in memory."""
    for key, page in PAGES.items():
        files.append(File.generated(config, f"{FOLDER}/{key}.md", content=page()))
    for family in atom_sizes.FAMILIES:
        content = atom_sizes.page(family)
        files.append(File.generated(config, atom_sizes.file_of(family), content=content))
    for name in atom_names.names():
        content = atom_names.page(name)
        files.append(File.generated(config, atom_names.file_of(name), content=content))
    return files
