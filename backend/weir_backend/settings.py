"""What an installation is told from outside: environment variables that begin with WEIR_."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from weir.errors import ConfigError
from weir.protocol.metrics_address import TOKEN_CHARACTERS_MIN, is_token, parse_address
from weir_backend.recovery.elsewhere import PathElsewhere
from weir_backend.webhooks.addresses import Reach


class Settings(BaseSettings):
    """Of the API and of the workers alike."""

    model_config = SettingsConfigDict(env_prefix="WEIR_", extra="ignore", frozen=True, hide_input_in_errors=True)

    database_url: SecretStr
    """``postgresql://user:password@host:port/name``."""
    redis_url: SecretStr
    """``redis://:password@host:port/0``."""
    secret_key: SecretStr = Field(min_length=32)
    """Signs recovery plans and the state of a login by OpenID Connect. The same for all processes of an installation."""
    data_dir: Path
    """Where runs have their directories, and checkpoints go if a job does not say otherwise."""
    public_url: AnyHttpUrl = AnyHttpUrl("http://127.0.0.1:8700")
    """Where browsers and drivers reach the API."""
    ui_dir: Path | None = None
    """The built web interface; if not given, where a build of it is found beside the code."""
    artifact_bytes_max: Annotated[int, Field(gt=0)] = 64 << 20
    pool_size: Annotated[int, Field(gt=0, le=200)] = 10
    """Connections to the database that one process keeps."""
    streams_per_user: Annotated[int, Field(gt=0)] = 250
    """Event streams that one API process serves to one user at once."""
    streams_max: Annotated[int, Field(gt=0)] = 1_000
    """Event streams that one API process serves at once."""
    events_kept_days: Annotated[float, Field(gt=0)] = 90.0
    audit_kept_days: Annotated[float, Field(gt=0)] = 1_095.0
    """Who did what."""
    samples_kept_hours: Annotated[float, Field(gt=0)] = 24.0
    checkpoints_kept_days: Annotated[float, Field(gt=0)] = 365.0
    """What is known of a completed checkpoint, after its files are gone."""
    compile_environment: str = ""
    """Environment variables of workers that user code sees while it is compiled, beyond those that say where things are: names, or their
    beginnings with a star (``AWS_*``), with commas between them."""
    run_files_kept_days: Annotated[float, Field(gt=0)] = 14.0
    """What a run that is over has on the disk of its driver's machine: its log, its code."""
    run_files_kept_last: Annotated[int, Field(ge=0)] = 5
    """Of so many newest runs of each job they stay, however old."""
    run_files_kept_max: Annotated[int, Field(gt=0)] = 100
    """Of no more runs of a job they stay, however young: one that fails again and again would fill the disk."""
    artifacts_kept_days: Annotated[float, Field(gt=0)] = 7.0
    """How long a file of user code stays that no version of a job refers to, counted from when it was last uploaded."""
    undo_kept_days: Annotated[float, Field(gt=0)] = 30.0
    """For so long after a plan was applied the checkpoint stays to which an undo of it would return."""
    restore_roots: Annotated[tuple[PathElsewhere, ...], NoDecode] = ()
    """Where checkpoints are that a job may be made to begin with by their path, apart from ``checkpoints`` in ``data_dir``:
    directories and object stores, with commas between them."""
    verify_after_hours: Annotated[float, Field(gt=0)] = 24.0
    """How long the files of a checkpoint are believed to be as they were."""
    driver_metrics: str | None = None
    """Where drivers that workers start serve their metrics on their own machine: HOST:PORT or HOST:FIRST-LAST. If not given, nowhere."""
    driver_metrics_token: Annotated[SecretStr | None, Field(validate_default=True)] = None
    """Who has it may read them."""
    webhook_reach: Reach = Reach.PRIVATE
    """How far into the inside workers may be made to send messages: public, private or loopback. Never to link-local addresses."""
    webhook_keys_dir: Path | None = None
    """Where workers find the files that ``secret_reference`` of a webhook names; if not given, ``webhook-keys`` in ``data_dir``."""
    oidc_issuer: AnyHttpUrl | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: SecretStr | None = None
    oidc_name: Annotated[str, Field(max_length=60)] | None = None
    """What the log-in page calls the provider; if not given, the host of ``oidc_issuer``."""
    oidc_role_claim: str = "weir_role"
    """Claim of the identity token that holds viewer, operator or admin."""
    oidc_new_users: Literal["refused", "viewer"] = "refused"
    """Who is new, and of whose role the token says nothing. An issuer may know half the world."""

    @field_validator("driver_metrics", "driver_metrics_token", mode="before")
    @classmethod
    def _nothing(cls, value: object) -> object:
        return None if value == "" else value

    @field_validator("driver_metrics")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                parse_address(value)
            except ConfigError as error:
                raise ValueError(str(error)) from None
        return value

    @field_validator("driver_metrics_token")
    @classmethod
    def _no_port_without_it(cls, value: SecretStr | None, others: ValidationInfo) -> SecretStr | None:
        if others.data.get("driver_metrics") is not None and not is_token(value.get_secret_value() if value else ""):
            raise ValueError(
                f"WEIR_DRIVER_METRICS has drivers open a port, and nobody reads it without a token: a word of {TOKEN_CHARACTERS_MIN} "
                "characters or more (openssl rand -hex 24)"
            )
        return value

    @field_validator("restore_roots", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(one.strip() for one in value.split(",") if one.strip()) if isinstance(value, str) else value

    @property
    def sqlalchemy_url(self) -> str:
        """With the driver that we use."""
        url = self.database_url.get_secret_value()
        scheme, rest = url.split("://", 1) if "://" in url else ("", url)
        if scheme.split("+")[0] not in ("postgresql", "postgres"):
            raise ConfigError(
                "WEIR_DATABASE_URL is no address of a Postgres database: write postgresql://user:password@host/name"
            )
        return f"postgresql+psycopg://{rest}"


@lru_cache
def settings() -> Settings:
    """Raises ConfigError naming each variable that is missing or wrong, and no value."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(
            f"{'WEIR_' + '.'.join(str(part) for part in one['loc']).upper()}: {one['msg']}" for one in error.errors()
        )
        raise ConfigError(f"the settings of the control plane are not complete: {wrong}") from None
