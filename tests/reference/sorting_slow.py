"""The stable order of keys, one key after the other."""


def sort_slow(keys, n_keys):
    return [k for key in range(n_keys) for k, found in enumerate(keys) if found == key]
