"""Settings of an installation: environment variables with the prefix WEIR_."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from weir.errors import ConfigError
from weir.protocol.metrics_address import TOKEN_CHARACTERS_MIN, is_token, parse_address
from weir_backend.recovery.external_path import CheckpointPath
from weir_backend.webhooks.addresses import Reach

Days = Annotated[float, Field(le=365_000, allow_inf_nan=False)]
"""A number of days that can be subtracted from the current time."""


class Settings(BaseSettings):
    """Settings of the API and of the workers."""

    model_config = SettingsConfigDict(env_prefix="WEIR_", extra="ignore", frozen=True, hide_input_in_errors=True)

    database_url: SecretStr
    """``postgresql://user:password@host:port/name``."""
    redis_url: SecretStr
    """``redis://:password@host:port/0``."""
    secret_key: SecretStr = Field(min_length=32)
    """The key that signs recovery plans and the state of OpenID Connect logins. The tokens of runs are derived from this key. All processes of an
    installation must have the same ``secret_key``."""
    data_dir: Path
    """The directory that contains the directories of runs. ``data_dir`` also contains the checkpoints of each job that sets no other
    checkpoint directory."""
    public_url: AnyHttpUrl = AnyHttpUrl("http://127.0.0.1:8700")
    """The URL at which browsers and drivers reach the API."""
    ui_dir: Path | None = None
    """The directory of the built web UI. By default, the web UI is in the package ``weir_backend`` or, in a checkout, in ``frontend/dist``."""
    artifact_bytes_max: Annotated[int, Field(gt=0)] = 64 << 20
    pool_size: Annotated[int, Field(gt=0, le=200)] = 10
    """The maximum number of database connections of one process."""
    streams_per_user: Annotated[int, Field(gt=0)] = 250
    """The maximum number of concurrent event streams of one user in one API process."""
    streams_max: Annotated[int, Field(gt=0)] = 1_000
    """The maximum number of concurrent event streams in one API process."""
    events_kept_days: Annotated[Days, Field(gt=0)] = 90.0
    audit_kept_days: Annotated[Days, Field(gt=0)] = 1_095.0
    samples_kept_hours: Annotated[float, Field(gt=0)] = 24.0
    checkpoints_kept_days: Annotated[Days, Field(gt=0)] = 365.0
    """How long to keep the metadata of a completed checkpoint after its files are deleted."""
    checkpoints_full_days: Annotated[Days, Field(gt=0)] = 1.0
    """How long to keep the metadata of every completed checkpoint."""
    checkpoints_per_minute_days: Annotated[Days, Field(ge=0)] = 7.0
    """How long to keep the metadata of one completed checkpoint per minute and job, after ``checkpoints_full_days``. Of older checkpoints, one
    per hour and job is kept."""
    compile_environment: str = ""
    """The environment variables of a worker that user code can read while the worker compiles the code: comma-separated names, or prefixes with
    a star (``AWS_*``). User code can always read the variables that ``COMPILE_VARIABLES`` lists, such as ``PATH`` and ``LANG``."""
    run_files_kept_days: Annotated[Days, Field(gt=0)] = 14.0
    """How long to keep the files of an ended run (log, code) on the host of its driver."""
    run_files_kept_last: Annotated[int, Field(ge=0)] = 5
    """For each job, the number of newest runs that keep their files regardless of age."""
    run_files_kept_max: Annotated[int, Field(gt=0)] = 100
    """For each job, the maximum number of runs that keep their files. The files of older runs are deleted regardless of age, so that a job in a
    restart loop does not fill the disk."""
    artifacts_kept_days: Annotated[Days, Field(gt=0)] = 7.0
    """How long to keep an artifact that no spec references, counted from the last upload of the artifact."""
    undo_kept_days: Annotated[Days, Field(gt=0)] = 30.0
    """How long to keep the checkpoint that an undo of a plan would restore, counted from the end of the plan."""
    separate_approver: bool = False
    """Whether Weir refuses the approval of a plan by the user who proposed it, so that another user must approve the plan."""
    restore_roots: Annotated[tuple[CheckpointPath, ...], NoDecode] = ()
    """Comma-separated directories and object stores from which users may restore a checkpoint by its path, in addition to ``checkpoints``
    in ``data_dir``."""
    verify_after_hours: Annotated[float, Field(gt=0)] = 24.0
    """How long a successful verification of a checkpoint remains valid."""
    driver_metrics: str | None = None
    """The address at which drivers serve their metrics on their host: HOST:PORT, or HOST:FIRST-LAST for a range of ports. By default, drivers
    serve no metrics."""
    driver_metrics_token: Annotated[SecretStr | None, Field(validate_default=True)] = None
    """The bearer token that grants access to the metrics of drivers."""
    webhook_reach: Reach = Reach.PRIVATE
    """The addresses to which workers may send webhooks: ``public``, ``private`` (which includes ``public``) or ``loopback`` (which includes
    both). Workers never send webhooks to link-local addresses."""
    webhook_keys_dir: Path | None = None
    """The directory of the key files that the ``secret_reference`` of a webhook can name. The default is ``webhook-keys`` in ``data_dir``."""
    oidc_issuer: AnyHttpUrl | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: SecretStr | None = None
    oidc_name: Annotated[str, Field(max_length=60)] | None = None
    """The name of the OpenID Connect provider on the login page. The default is the host of ``oidc_issuer``."""
    oidc_role_claim: str = "weir_role"
    """The claim of the identity token that contains the role of the user: viewer, operator or admin. Each login gives the user this role. If
    ``oidc_role_claim`` is empty, administrators manage the roles in Weir, and logins do not change roles."""
    oidc_users_without_role: Literal["refused", "viewer"] = "refused"
    """Whether Weir refuses a user whose token names no role, or makes the user a viewer. By default, Weir refuses such users, because an issuer
    can serve many organizations."""

    oidc_new_users: str | None = None
    """Removed. Use ``oidc_users_without_role``."""

    @field_validator("oidc_new_users")
    @classmethod
    def _refuse_removed(cls, value: str | None) -> None:
        if value is not None:
            raise ValueError("This setting was replaced by WEIR_OIDC_USERS_WITHOUT_ROLE, which applies to every login")

    @field_validator("driver_metrics", "driver_metrics_token", mode="before")
    @classmethod
    def _empty_to_none(cls, value: object) -> object:
        return None if value == "" else value

    @field_validator("driver_metrics")
    @classmethod
    def _check_address(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                parse_address(value)
            except ConfigError as error:
                raise ValueError(str(error)) from None
        return value

    @field_validator("driver_metrics_token")
    @classmethod
    def _require_token(cls, value: SecretStr | None, others: ValidationInfo) -> SecretStr | None:
        if others.data.get("driver_metrics") is not None and not is_token(value.get_secret_value() if value else ""):
            raise ValueError(
                f"WEIR_DRIVER_METRICS requires WEIR_DRIVER_METRICS_TOKEN, a token of at least {TOKEN_CHARACTERS_MIN} characters "
                "(for example from openssl rand -hex 24)"
            )
        return value

    @field_validator("restore_roots", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(one.strip() for one in value.split(",") if one.strip()) if isinstance(value, str) else value

    @property
    def ui_url(self) -> str | None:
        """The address of the web UI for links in messages, without a slash at the end. None if ``public_url`` is a loopback address, which leads
        to different hosts for different users."""
        host = (self.public_url.host or "").strip("[]")
        with suppress(ValueError):  # the host is a name
            if ip_address(host).is_loopback:
                return None
        return None if host == "localhost" else str(self.public_url).rstrip("/")

    @property
    def sqlalchemy_url(self) -> str:
        url = self.database_url.get_secret_value()
        scheme, rest = url.split("://", 1) if "://" in url else ("", url)
        if scheme.split("+")[0] not in ("postgresql", "postgres"):
            raise ConfigError(
                "WEIR_DATABASE_URL is not the URL of a Postgres database. Write postgresql://user:password@host/name."
            )
        return f"postgresql+psycopg://{rest}"


@lru_cache
def settings() -> Settings:
    """Return the settings. Raises ConfigError, which names each missing or invalid variable, without its value."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(
            f"{'WEIR_' + '.'.join(str(part) for part in one['loc']).upper()}: {one['msg']}" for one in error.errors()
        )
        raise ConfigError(f"invalid settings of the control plane: {wrong}") from None
