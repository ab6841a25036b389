"""A class data sharing (CDS) archive of Spark's classes.

The archive halves the CPU time of a JVM start. The tests start a hundred JVMs. The archive is optional. If the archive
cannot be created, for example because the JVM is not HotSpot, JVMs start more slowly.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pyspark

from weir.spark.java_home import find_java

CREATE_S_MAX = 120.0
# Disables the optimising compiler, which does not pay off in a JVM that runs for only seconds.
BASE_OPTIONS = "-XX:TieredStopAtLevel=1"
_LOAD_CLASSES = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.parallelize([1, 2], 2).map(lambda one: one + 1).collect()
spark.stop()
"""


def jvm_options(folder: Path) -> str:
    """Return the JVM options for the environment variable SPARK_SUBMIT_OPTS.

    If ``folder`` has no CDS archive, start Spark once to create an archive.
    """
    archive = archive_in(folder)
    # Spark splits SPARK_SUBMIT_OPTS at spaces, so the path of the archive must not contain a space.
    if " " in str(archive) or (not archive.exists() and not _create(archive)):
        return BASE_OPTIONS
    return f"{BASE_OPTIONS} -XX:SharedArchiveFile={archive} -Xshare:auto -Xlog:cds=off -Xlog:class+path=off"


def archive_in(folder: Path) -> Path:
    """Return the path of the CDS archive. The file does not necessarily exist.

    An archive is valid only for the same Java and the same jars at the same paths.
    """
    java = find_java(dict(os.environ))
    key = hashlib.sha256(f"{java.home} {java.version} {pyspark.__file__}".encode()).hexdigest()[:12]
    return folder / f"spark-{pyspark.__version__}-{key}.jsa"


def _create(archive: Path) -> bool:
    archive.parent.mkdir(parents=True, exist_ok=True)
    draft = archive.with_suffix(f".{os.getpid()}")
    environment = os.environ | {
        "SPARK_SUBMIT_OPTS": f"{BASE_OPTIONS} -XX:ArchiveClassesAtExit={draft}",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    find_java(environment)
    try:
        # The JVM writes the archive after the Python program has ended. ``capture_output`` makes this call wait until the JVM ends.
        subprocess.run(
            [sys.executable, "-c", _LOAD_CLASSES], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=CREATE_S_MAX, check=False,
        )  # fmt: skip
        draft.rename(archive)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return True
