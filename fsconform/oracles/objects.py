"""Sequential specifications of the small objects that a directory entry can be (for `frontier.sweep`)."""

from __future__ import annotations

from fsconform.oracles.operations import Op

LIFE_LOOKS = frozenset({"present", "absent", "read"})
PAIR_LOOKS = frozenset({"present", "absent"})


def life(state: int, op: Op) -> int | None:
    """A name that is created, replaced, removed and re-created (files, directories); 0: absent, else its incarnation.

    Kinds: `create` (O_EXCL, link, mkdir succeeded), `maybe_create`, `ensure` (a plain O_CREAT succeeded), `replace`
    (rename over; open ones never return), `unlink` (also rmdir; does not say whom it removed), `maybe_unlink`, `read`
    (of incarnation `value`), `present` (stat, EEXIST, ENOTEMPTY), `absent` (ENOENT of any call, removals included).
    """
    match op.kind:
        case "present":
            return state or None
        case "absent":
            return None if state else 0
        case "read":
            return state if state == op.value else None
        case "create":
            return None if state else op.value
        case "replace":
            return op.value
        case "unlink":
            return 0 if state else None
        case "maybe_create" | "ensure":
            return state or op.value
        case "maybe_unlink":
            return 0
    raise ValueError(f"operation kind {op.kind!r} is not one of a name's life")


def pair(state: tuple[bool, bool], op: Op) -> tuple[bool, bool] | None:
    """Two names of one object: (old there, new there); rename moves it, link adds the second name.

    Kinds: `rename` (old -> new, atomically: never neither), `link`, `unlink`, `maybe_unlink` and the looks `present`,
    `absent` with `name` 0 (old) or 1 (new); `maybe_rename`, `maybe_link`.
    """
    there = state[op.name]
    match op.kind:
        case "present":
            return state if there else None
        case "absent":
            return None if there else state
        case "rename" | "maybe_rename":
            if not state[0]:
                return None if op.kind == "rename" else state
            # Two links to one file: rename does nothing and succeeds (POSIX.1-2024 rename()).
            return state if state[1] else (False, True)
        case "link":
            return (True, True) if state == (True, False) else None
        case "maybe_link":
            return (True, True) if state[0] else state
        case "unlink" | "maybe_unlink":
            if not there:
                return None if op.kind == "unlink" else state
            return (False, state[1]) if op.name == 0 else (state[0], False)
    raise ValueError(f"operation kind {op.kind!r} is not one of a pair of names")
