# SPDX-License-Identifier: BSD-3-Clause
import pytest

from gate import Gate


@pytest.fixture
def gate(tmp_path):
    """Builds a gate in a folder of its own: gate(tenants, services, ...)."""
    def build(tenants, services, **settings):
        return Gate(tmp_path, tenants, services, **settings)

    return build
