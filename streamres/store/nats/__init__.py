"""The store in a stream of NATS JetStream, for several servers at once."""

from streamres.store.nats.store import NatsStore

__all__ = ["NatsStore"]
