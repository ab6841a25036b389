"""Spark's classes as the JVM wants them, parsed and laid out once: half of what its start computes, and the demo is short, and tests start it a
hundred times.

A courtesy: where it cannot be made (another kind of Java, say) everything takes longer and is the same.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pyspark

from weir.spark.java import find_java

MAKE_S_MAX = 120.0
# A JVM that lives for seconds is not worth the optimising compiler either.
PLAIN = "-XX:TieredStopAtLevel=1"
_LOADS_WHAT_IS_USED = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.parallelize([1, 2], 2).map(lambda one: one + 1).collect()
spark.stop()
"""


def jvm_options(folder: Path) -> str:
    """For SPARK_SUBMIT_OPTS. ``folder``: where the archive is, or is made: then it takes as long as Spark takes to come up and go down."""
    archive = archive_in(folder)
    # Spark takes the options apart at blanks.
    if " " in str(archive) or (not archive.exists() and not _made(archive)):
        return PLAIN
    return f"{PLAIN} -XX:SharedArchiveFile={archive} -Xshare:auto -Xlog:cds=off -Xlog:class+path=off"


def archive_in(folder: Path) -> Path:
    """Where it is, if it is there. It is only of use to the same Java with the same jars at the same place."""
    java = find_java(dict(os.environ))
    place = hashlib.sha256(f"{java.home} {java.version} {pyspark.__file__}".encode()).hexdigest()[:12]
    return folder / f"spark-{pyspark.__version__}-{place}.jsa"


def _made(archive: Path) -> bool:
    archive.parent.mkdir(parents=True, exist_ok=True)
    draft = archive.with_suffix(f".{os.getpid()}")
    environment = os.environ | {"SPARK_SUBMIT_OPTS": f"{PLAIN} -XX:ArchiveClassesAtExit={draft}", "SPARK_LOCAL_IP": "127.0.0.1"}
    find_java(environment)
    try:
        # The JVM goes on for a moment after the program: it holds the program's output open until the archive is written.
        subprocess.run(
            [sys.executable, "-c", _LOADS_WHAT_IS_USED], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=MAKE_S_MAX, check=False,
        )  # fmt: skip
        draft.rename(archive)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return True
