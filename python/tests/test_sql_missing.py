"""SQL in builds without SQL: the functions exist, and their errors say what to install."""

import pytest

import redpoll as rp
from redpoll import _core


@pytest.mark.skipif(hasattr(_core, "_sql"), reason="this build of redpoll has SQL")
def test_an_error_says_what_to_install():
    for call in (lambda: rp.sql("SELECT 1"), rp.Database, rp.current_database):
        with pytest.raises(rp.MissingSqlError, match="install the wheel with SQL"):
            call()
    assert issubclass(rp.MissingSqlError, ImportError)
