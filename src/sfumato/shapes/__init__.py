"""The shapes of data that come with Sfumato, each tying its parts in the other rooms together."""
