"""Weights as named arrays and back."""

import numpy as np
import pytest
from numpy_transformer import Architecture, weight_shapes

from nmt_cli.errors import ModelFileError
from nmt_cli.model.weights import assign_weights, named_variables, read_weights


@pytest.mark.parametrize(
    ("changes", "joint", "tied"),
    [
        ({}, True, "all"),
        ({"norm": "post", "activation": "gelu"}, False, "output"),
        ({"tie_embeddings": False, "positions": "learned"}, True, "none"),
        ({"activation": "swiglu", "encoder_layers": 2}, True, "all"),
    ],
)
def test_names_and_shapes_are_those_of_the_reference(make_model, changes, joint, tied):
    sizes = (11, 11) if joint else (11, 13)
    model = make_model(
        source_vocab_size=sizes[0], target_vocab_size=sizes[1], joint=joint, **changes
    )
    kinds = ("norm", "activation", "positions")
    architecture = Architecture(
        8,
        12,
        2,
        encoder_layers=model.config.encoder_layers,
        decoder_layers=1,
        **{kind: getattr(model.config, kind) for kind in kinds},
    )
    found = {name: tuple(weight.shape) for name, weight in named_variables(model).items()}
    assert found == weight_shapes(architecture, *sizes, tied, 16)


def test_what_is_read_can_be_assigned(make_model):
    first, second = make_model(seed=1), make_model(seed=2)
    weights = read_weights(first)
    assert any(np.any(weights[name] != array) for name, array in read_weights(second).items())

    assign_weights(second, weights)

    for name, array in read_weights(second).items():
        np.testing.assert_array_equal(array, weights[name])


def test_what_is_read_is_a_copy(make_model):
    model = make_model()
    before = read_weights(model)
    kept = {name: array.copy() for name, array in before.items()}
    for variable in model.weights:
        variable.assign(variable + 1)
    for name, array in before.items():
        np.testing.assert_array_equal(array, kept[name])


def _refusal(model, weights) -> str:
    before = read_weights(model)
    with pytest.raises(ModelFileError) as caught:
        assign_weights(model, weights)
    for name, array in read_weights(model).items():
        np.testing.assert_array_equal(array, before[name])  # nothing was assigned
    return str(caught.value)


def test_a_missing_weight_is_named(make_model):
    model = make_model()
    weights = {name: array + 1 for name, array in read_weights(model).items()}
    del weights["decoder.norm.scale"]
    assert "missing 'decoder.norm.scale'" in _refusal(model, weights)


def test_an_unknown_weight_is_named_with_its_neighbour(make_model):
    model = make_model()
    weights = {name: array + 1 for name, array in read_weights(model).items()}
    weights["decoder.norm.scales"] = np.zeros(8, np.float32)
    message = _refusal(model, weights)
    assert "unknown 'decoder.norm.scales'. Did you mean 'decoder.norm.scale'?" in message


def test_a_wrong_shape_is_told_with_the_right_one(make_model):
    model = make_model()
    weights = {name: array + 1 for name, array in read_weights(model).items()}
    weights["embedding"] = np.zeros((11, 9), np.float32)
    assert "'embedding' has shape (11, 9), expected (11, 8)" in _refusal(model, weights)


def test_of_many_problems_the_first_three_are_told(make_model):
    message = _refusal(make_model(), {})
    assert message.count("missing '") == 3
    assert message.endswith(f"(and {len(make_model().weights) - 3} more)")
