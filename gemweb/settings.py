"""All settings, read from the environment. A missing or contradictory setting stops the start with one sentence.

`make up` sets them for one machine; `docs/deploy.md` lists the variables for other deployments.
"""

import os
from contextlib import suppress
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from gem import __version__
from gem.datasets.folder import allowed_sources
from gem.errors import InvalidArgument, UnknownEnvironment
from gem.net.addresses import NO_ADDRESS, AddressGuard, allowed_addresses
from gemweb import logs
from gemweb.database import limits
from gemweb.variables import ORIGIN, Variables

BASE_DIR = Path(__file__).resolve().parent.parent
env = Variables()

VERSION = __version__
DEBUG = env.switch("DEBUG", default=False)
LOCAL_MODE = env.switch("LOCAL_MODE", default=False)  # one person, on loopback: `make up`
BIND = env.text("BIND", default="127.0.0.1")
PORT = env.whole("PORT", default=8000)
STATE_DIR = Path(env.text("STATE_DIR", default=str(BASE_DIR / ".state")))

# A setting of the engine: pages and jobs never wait for a download or read files outside the data folder.
os.environ["GEM_DATA_FROM"] = env.text("GEM_DATA_FROM", default="folder")
try:
    allowed_sources()
except InvalidArgument as error:
    raise ImproperlyConfigured(str(error)) from error
os.environ["GEM_OPENENV_ADDRESSES"] = env.text("GEM_OPENENV_ADDRESSES", default=NO_ADDRESS)
try:
    with suppress(UnknownEnvironment):  # no server may be connected to
        allowed_addresses()
except InvalidArgument as error:
    raise ImproperlyConfigured(f"GEM_OPENENV_ADDRESSES cannot be read: {error}") from error

SECRET_KEY = env.secret("SECRET_KEY")
if not SECRET_KEY or (len(SECRET_KEY) < 50 and not (DEBUG or LOCAL_MODE)):
    raise ImproperlyConfigured("Set SECRET_KEY to at least 50 random characters; `make up` generates it.")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
IS_PUBLIC = BIND not in (*LOOPBACK, "::1")
if (DEBUG or LOCAL_MODE) and IS_PUBLIC:
    raise ImproperlyConfigured(f"DEBUG and LOCAL_MODE are for loopback only, but BIND is {BIND}: switch them off.")

ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", default=[*LOOPBACK])
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS", default=[])

# ---------------------------------------------------------------- parts

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "template_partials",
    "csp",
    "django_prometheus",
    "apps.admission",
    "apps.live",
    "apps.accounts",
    "apps.moderation",
    "apps.catalog",
    "apps.agents",
    "apps.seasons",
    "apps.episodes",
    "apps.play",
    "apps.lens",
    "apps.learnability",
    "apps.duels",
    "apps.benchmarks",
    "apps.jobs",
    "apps.curves",
    "apps.reported",
    "apps.trainings",
    "apps.studies",
    "apps.leaderboard",
    "apps.standings",
    "apps.daily",
    "apps.webhooks",
    "apps.api",
    "apps.openenv",
    "apps.doors",
    "apps.mcp",
    "apps.remote",
    "apps.connect",
    "apps.site",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "apps.site.static_files.StaticFilesMiddleware",
    "apps.site.compression.CompressionMiddleware",
    "csp.middleware.CSPMiddleware",
    "apps.site.unstorable.UnstorableTextMiddleware",
    "apps.doors.middleware.DoorMiddleware",
    "apps.api.middleware.ApiMiddleware",  # before sessions, because a request with a token has none
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "apps.accounts.request_limits.RequestLimitMiddleware",
    "apps.moderation.middleware.HiddenContentMiddleware",
    "apps.benchmarks.sources.ViewerMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "gemweb.urls"
ASGI_APPLICATION = "gemweb.asgi.application"

LOADERS = ["apps.site.unindented.Loader", "django.template.loaders.app_directories.Loader"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [("template_partials.loader.Loader", [("django.template.loaders.cached.Loader", LOADERS)])],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.site.context.site",
            ],
            "builtins": ["apps.site.templatetags.ui"],
        },
    },
]
FORM_RENDERER = "apps.site.form_rendering.FormRenderer"

# ---------------------------------------------------------------- data

LEASE_SECONDS = env.number("LEASE_SECONDS", default=45.0)
"""Seconds that a worker owns a shard or a live episode without a heartbeat, by the clock of the database."""
DATABASES = {"default": env.database("DATABASE_URL", default="postgres:///gemweb")}
# Web and worker threads share a small pool; a persistent connection per thread would exhaust Postgres.
DATABASE_POOL = env.whole("DATABASE_POOL", default=12)
if DATABASE_POOL:
    DATABASES["default"]["OPTIONS"]["pool"] = limits.pool_options(DATABASE_POOL)
STATEMENT_SECONDS = env.whole("STATEMENT_SECONDS", default=0)  # the web process sets it; workers have no limit
TRANSACTION_SECONDS = env.whole("TRANSACTION_SECONDS", default=max(1, round(LEASE_SECONDS / 3)))
"""Seconds that a transaction of a web or worker process may take before Postgres ends it, so that a frozen process does
not keep rows locked; 0 means no limit. Commands of `manage.py` have none."""
SILENCE_SECONDS = env.whole("SILENCE_SECONDS", default=max(3, round(LEASE_SECONDS)))
"""Seconds of silence after which Postgres and its clients give up a TCP connection; 0 leaves it to the system."""
BOUNDED_APPLICATION = limits.BOUNDED_APPLICATION
limits.bound_connection(DATABASES["default"], STATEMENT_SECONDS, TRANSACTION_SECONDS, SILENCE_SECONDS)
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

VALKEY_URL = env.server("VALKEY_URL", ("redis", "rediss", "unix"), default="redis://127.0.0.1:6379/0")
BROKER_URL = env.server("BROKER_URL", ("redis", "rediss", "amqp", "amqps"), default=VALKEY_URL)
CELERY_APP = "gemweb.celery.app"

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": VALKEY_URL,
        "OPTIONS": {"socket_timeout": 2, "socket_connect_timeout": 2},
    }
}
SESSION_ENGINE = "django.contrib.sessions.backends.db"

# ---------------------------------------------------------------- jobs

HEARTBEAT_SECONDS = env.number("HEARTBEAT_SECONDS", default=LEASE_SECONDS / 4.5)
REAP_SECONDS = env.number("REAP_SECONDS", default=LEASE_SECONDS / 4.5)
if HEARTBEAT_SECONDS >= LEASE_SECONDS:
    raise ImproperlyConfigured("HEARTBEAT_SECONDS must be less than LEASE_SECONDS, or workers lose their leases.")
MAX_ATTEMPTS = 3
JOBS_RUNNING_PER_USER = env.whole("JOBS_RUNNING_PER_USER", default=2)
JOBS_QUEUED_PER_USER = env.whole("JOBS_QUEUED_PER_USER", default=20)
EPISODES_PER_JOB = env.whole("EPISODES_PER_JOB", default=100_000)
SEASON_DAYS = env.whole("SEASON_DAYS", default=90, least=1)
"""How long the hidden seeds of a benchmark stay hidden. A change holds for the seasons that begin after it."""
SITE_ROWS = env.switch("SITE_ROWS", default=True)
"""Whether idle workers play the built-in agents on every benchmark, in every season."""

RUNS_DIR = Path(env.text("RUNS_DIR", default=str(STATE_DIR / "runs")))
"""The folder for curves and checkpoints of trainings; web and workers need the same one."""
TRAININGS_PER_USER = env.whole("TRAININGS_PER_USER", default=30)
"""Trainings of one person that may be waiting or running."""
STUDIES_PER_USER = env.whole("STUDIES_PER_USER", default=3)
"""Studies of one person that may be waiting or running. Their runs are made when no training waits."""
TRAINING_SLICE_SECONDS = env.number("TRAINING_SLICE_SECONDS", default=900.0)
"""Seconds after which a training saves a checkpoint and gives its worker to a training of somebody else who waits."""

# ---------------------------------------------------------------- sockets and shows

SOCKETS_PER_USER = env.whole("SOCKETS_PER_USER", default=40)
"""Open pages of one person in one web process."""
SOCKETS_PER_ADDRESS = env.whole("SOCKETS_PER_ADDRESS", default=400)
"""Open pages of people without an account at one IP address, such as a classroom or a lab."""
OPENENV_SESSIONS = env.whole("OPENENV_SESSIONS", default=2000)
"""Sessions of OpenEnv in one web process. Whoever finds all in use waits in a queue."""
OPENENV_SESSIONS_PER_USER = env.whole("OPENENV_SESSIONS_PER_USER", default=512)
OPENENV_SESSIONS_PER_ADDRESS = env.whole("OPENENV_SESSIONS_PER_ADDRESS", default=OPENENV_SESSIONS if LOCAL_MODE else 32)
"""The same for all people without an account at one IP address."""
OPENENV_WAIT_SECONDS = env.number("OPENENV_WAIT_SECONDS", default=30.0)
"""How long a session waits for its turn in that queue; clients give up after 60 s."""
OPENENV_IDLE_SECONDS = env.number("OPENENV_IDLE_SECONDS", default=900.0)
"""After this time without a message a session ends."""
OPENENV_MESSAGE_BYTES = env.whole("OPENENV_MESSAGE_BYTES", default=256 * 1024)
"""The longest message of a session."""
REMOTE_TURN_SECONDS = env.number("REMOTE_TURN_SECONDS", default=60.0)
REMOTE_WAIT_SECONDS = env.number("REMOTE_WAIT_SECONDS", default=600.0)
REMOTE_LOST_SECONDS = env.number("REMOTE_LOST_SECONDS", default=90.0)
"""How long a remote agent may take for a turn, and how long a turn waits for one that never came, or was lost."""
REMOTE_LEASE_SECONDS = env.number("REMOTE_LEASE_SECONDS", default=12.0)  # then a connection is taken for lost
REMOTE_MESSAGE_BYTES = env.whole("REMOTE_MESSAGE_BYTES", default=128 * 1024)
SHOWS_PER_PERSON = env.whole("SHOWS_PER_PERSON", default=8)
"""Live episodes of agents that play for one person at the same time; as many more may wait."""
SHOWS_PER_ADDRESS = env.whole("SHOWS_PER_ADDRESS", default=16)
"""The same for all people without an account at one IP address."""
TURNS_PER_PERSON = env.whole("TURNS_PER_PERSON", default=2)
"""Turns of one person in slow environments that workers play at the same time."""
TURNS_PER_ADDRESS = env.whole("TURNS_PER_ADDRESS", default=4)
"""The same for all people without an account at one IP address."""
TURNS_WAITING_PER_PERSON = env.whole("TURNS_WAITING_PER_PERSON", default=8)
"""Turns of one person that may wait or be played; eight times as many of people without an account at one address."""
TURN_SECONDS = env.number("TURN_SECONDS", default=30.0)
"""Seconds that an agent, or an environment that runs in a worker, may take for one turn of a live episode."""

# ---------------------------------------------------------------- endpoint agents

PRIVATE_ENDPOINTS = env.texts("PRIVATE_ENDPOINTS", default=["127.0.0.0/8:*", "[::1/128]:*"] if LOCAL_MODE else [])
"""Private networks and ports that endpoint agents may connect to, such as `10.1.0.0/16:8000`."""
try:
    AddressGuard(PRIVATE_ENDPOINTS)
except InvalidArgument as error:
    raise ImproperlyConfigured(f"PRIVATE_ENDPOINTS cannot be read: {error}") from error
ENDPOINT_KEYS_FILE = Path(env.text("ENDPOINT_KEYS_FILE", default=str(STATE_DIR / "endpoint_keys")))
"""The file with the keys that encrypt the API keys of endpoint agents, newest first; created at the first use."""
ENDPOINT_CONCURRENCY = env.whole("ENDPOINT_CONCURRENCY", default=64, least=1)
"""Concurrent requests of one endpoint agent from one process."""
ENDPOINT_PATIENCE = env.number("ENDPOINT_PATIENCE", default=900.0)
"""Seconds that an endpoint agent may take for one turn, including retries."""
ENDPOINT_TRIALS_PER_MINUTE = env.whole("ENDPOINT_TRIALS_PER_MINUTE", default=10, least=1)
"""How often one person may test an endpoint in a minute."""
TOOL_SECONDS = env.number("TOOL_SECONDS", default=10.0)
"""Seconds that the start of an episode waits for the tool lists of its MCP servers."""
ENDPOINTS_PER_USER = env.whole("ENDPOINTS_PER_USER", default=50)
"""Endpoint agents of one person."""

# ---------------------------------------------------------------- webhooks

WEBHOOKS_PER_USER = env.whole("WEBHOOKS_PER_USER", default=5)
"""Webhooks of one person."""
WEBHOOK_SECONDS = env.number("WEBHOOK_SECONDS", default=5.0)
"""Seconds between two looks for events that webhooks send."""

# ---------------------------------------------------------------- uploaded checkpoints

UPLOAD_MEGABYTES = env.whole("UPLOAD_MEGABYTES", default=2048)
"""The maximum size of an uploaded checkpoint, packed or unpacked."""
UPLOADS_PER_USER = env.whole("UPLOADS_PER_USER", default=20)
"""Uploaded checkpoints of one person."""
UPLOADS_PER_HOUR = env.whole("UPLOADS_PER_HOUR", default=20, least=1)
"""Uploads of one person in an hour, including refused ones and those that were not completed."""

UPLOADS_AT_A_TIME = env.whole("UPLOADS_AT_A_TIME", default=4)
"""Uploads that one web process receives at the same time, one of each person."""
UPLOAD_FOLDER_MEGABYTES = env.whole("UPLOAD_FOLDER_MEGABYTES", default=20 * UPLOAD_MEGABYTES)
"""The size of all uploads together; above it, uploads are refused."""

# ---------------------------------------------------------------- benchmarks and results of people

BENCHMARKS_PER_USER = env.whole("BENCHMARKS_PER_USER", default=20)
"""Benchmarks of one person."""

OUTSIDE_TRAININGS_PER_USER = env.whole("OUTSIDE_TRAININGS_PER_USER", default=500)
"""Trainings that run elsewhere, whose curves one person may keep here. Their size counts as storage."""
REPORTED_EVALUATIONS_PER_USER = env.whole("REPORTED_EVALUATIONS_PER_USER", default=500)
"""Evaluations that one person may report from elsewhere. Their size counts as storage."""
CHALLENGE_DAYS = env.whole("CHALLENGE_DAYS", default=7, least=1)
"""How long somebody has to play the seeds that were drawn for them. A change holds for later challenges."""
CHALLENGES_PER_USER = env.whole("CHALLENGES_PER_USER", default=5)
"""Challenges of one person that wait for their episodes, or are being checked, at a time."""
REPORTED_ROWS_PER_USER = env.whole("REPORTED_ROWS_PER_USER", default=100)
"""Rows of numbers without proof that one person may have."""
RESULT_MEGABYTES = env.whole("RESULT_MEGABYTES", default=512)
"""The maximum size of the episodes that are sent for a challenge, as they are sent; unpacked eight times as much."""

# ---------------------------------------------------------------- space

DATABASE_DIR = env.text("DATABASE_DIR")
"""The folder of the database, if it is on this machine: the health page watches its free space."""
FREE_MEGABYTES = env.whole("FREE_MEGABYTES", default=2000)
FREE_PERCENT = env.whole("FREE_PERCENT", default=3)
"""The health page warns if a disk has less free space than one of these."""
LEAST_MEGABYTES = env.whole("LEAST_MEGABYTES", default=200)
"""The health page fails if a disk has less free space than this."""

# ---------------------------------------------------------------- starts

STARTS_PER_MINUTE = env.whole("STARTS_PER_MINUTE", default=20, least=1)
"""Episodes that a visitor may start in a minute; four times as many with an account, or from one address."""

# ---------------------------------------------------------------- people

OPEN_SIGNUPS = env.switch("OPEN_SIGNUPS", default=True)
"""Whether anybody can create an account; otherwise it takes an invitation (`manage.py invitation`)."""
SIGNUPS_PER_HOUR = env.whole("SIGNUPS_PER_HOUR", default=30, least=1)
"""Accounts that can be created from one IP address in an hour; a classroom may share an address."""
LOGINS_PER_MINUTE = env.whole("LOGINS_PER_MINUTE", default=8, least=1)
"""Attempts to log in with one name in a minute from one IP address (see `apps.accounts.limits`)."""
CPU_SECONDS_PER_DAY = env.whole("CPU_SECONDS_PER_DAY", default=0 if LOCAL_MODE else 12 * 60 * 60) or None
"""CPU seconds that workers spend for one person in a day, UTC; None if there is no limit."""
STORAGE_MEGABYTES_PER_USER = (
    env.whole("STORAGE_MEGABYTES_PER_USER", default=0 if LOCAL_MODE else 10 * UPLOAD_MEGABYTES) or None
)
"""The size of one person's trainings and uploads; None if there is no limit."""
REQUESTS_PER_MINUTE = env.whole("REQUESTS_PER_MINUTE", default=0 if LOCAL_MODE else 1200)
"""Requests of one account in a minute, and four times as many of all visitors at one IP address; 0 means no limit."""
API_REQUESTS_PER_MINUTE = env.whole("API_REQUESTS_PER_MINUTE", default=0 if LOCAL_MODE else 600)
"""Requests with one API token in a minute, which also count for its account; 0 means no limit."""
REPORTS_PER_HOUR = env.whole("REPORTS_PER_HOUR", default=10, least=1)
"""Reports about content that one person, or all visitors at one IP address, may send in an hour."""
PASSWORD_CHANGES_PER_HOUR = env.whole("PASSWORD_CHANGES_PER_HOUR", default=10, least=1)
"""Attempts of one person to change the password in an hour, with a right or a wrong current one."""
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["apps.accounts.hashing.FewAtATime"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "apps.accounts.passwords.DifferentCharactersValidator"},
]
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "site:home"
LOGOUT_REDIRECT_URL = "site:home"

# ---------------------------------------------------------------- pages

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]  # pages use only our files
STATIC_ROOT = STATE_DIR / "static"
WHITENOISE_USE_FINDERS = LOCAL_MODE or DEBUG  # a checkout serves its files directly; an image collects them
WHITENOISE_AUTOREFRESH = WHITENOISE_USE_FINDERS  # the files of a checkout may change while it runs
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": STATE_DIR / "media"}},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if WHITENOISE_USE_FINDERS
        else "apps.site.storage.HashedStaticFilesStorage"
    },
}

# ---------------------------------------------------------------- security

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
HTTPS = env.switch("HTTPS", default=not (LOCAL_MODE or DEBUG))
if IS_PUBLIC and not HTTPS and not env.switch("TLS_IN_FRONT", default=False):
    raise ImproperlyConfigured(
        f"BIND is {BIND} but HTTPS is off, so passwords would cross the network unencrypted: set HTTPS=1 behind a "
        "proxy with a certificate, or TLS_IN_FRONT=1 if something else in front encrypts the connection."
    )
SITE_URL = env.text("SITE_URL", default="").rstrip("/")
if SITE_URL and not ORIGIN.fullmatch(SITE_URL):
    raise ImproperlyConfigured(f"SITE_URL is {SITE_URL!r}: a whole origin is needed, such as https://gem.example.org.")
if not SITE_URL:
    _names = [host for host in ALLOWED_HOSTS if not host.startswith((".", "*"))]
    _host = next((name for name in _names if name not in LOOPBACK), next(iter(_names), "127.0.0.1"))
    SITE_URL = f"https://{_host}" if HTTPS else f"http://{_host}:{PORT}"
"""The address that certificates name."""
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_AGE = 60 * 60 * 24 * 90
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [
    r"^health/(live|ready)$",
    r"^metrics$",
]  # monitors check each process directly
SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.switch("BEHIND_PROXY", default=False) else None
PROXY_ADDRESSES = env.networks("PROXY_ADDRESSES", default=["127.0.0.1", "::1"])
"""The addresses of the proxy. Only from these is the `X-Forwarded-For` header trusted."""
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "apps.site.views.csrf_failure"
REQUEST_SECONDS = env.number("REQUEST_SECONDS", default=30.0)
"""Seconds for the headers of a request and again for its body, which also has a second for each 64 KiB."""
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # bytes; the longest form is an action of 64 KiB
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200

METRICS_TOKEN = env.secret("METRICS_TOKEN")
"""The token with which Prometheus can read /metrics; if it is empty, only staff can."""

# ---------------------------------------------------------------- logs

LOG_LEVEL = env.choice("LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), default="INFO")
LOG_JSON = env.switch("LOG_JSON", default=False)
LOGGING = logs.configure(LOG_LEVEL, as_json=LOG_JSON)
