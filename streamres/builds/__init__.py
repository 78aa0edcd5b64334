"""Commands that a file allows, as tools: started, watched and stopped by a client (`serve --config`)."""

from streamres.builds.config import Build, ConfigError, read_config
from streamres.builds.tools import offer_builds

__all__ = ["Build", "ConfigError", "offer_builds", "read_config"]
