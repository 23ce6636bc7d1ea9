import pytest
from pydantic import ValidationError

from provisioner.domain.model import Model
from provisioner.inputs.hardware import read_model

FIELDS = {
    "name": "small",
    "layers": 2,
    "hidden_size": 30,
    "heads": 6,
    "kv_heads": 6,
    "head_dim": 5,
    "bytes_per_value": 2,
    "weight_bytes": 600,
    "sources": {},
}


@pytest.mark.parametrize(
    ("name", "kv_bytes"),
    [
        # Keys and values x 70 layers x 112 heads x 128 values x 2 bytes: FP16, no grouping.
        ("bloom-176b", 4_014_080),
        # x 80 layers x 8 of 64 heads (grouped-query attention) x 128 x 2.
        ("llama2-70b", 327_680),
    ],
)
def test_kv_bytes_per_token_of_built_in_models(name, kv_bytes):
    assert read_model(name).kv_bytes_per_token == kv_bytes


def test_without_grouping_kv_bytes_are_two_hidden_vectors_per_layer():
    # The published formula, 2 x layers x hidden x bytes, is ours where every head has its own KV.
    model = read_model("bloom-176b")
    assert model.kv_bytes_per_token == 2 * model.layers * model.hidden_size * model.bytes_per_value


def test_grouping_divides_kv_bytes_by_the_heads_that_share():
    model = read_model("llama2-70b")
    alone = model.model_copy(update={"kv_heads": model.heads})
    assert alone.kv_bytes_per_token == 8 * model.kv_bytes_per_token


def test_kv_bytes_follow_the_fields():
    # 2 x 2 layers x 6 heads x 5 x 2 bytes = 240; grouped in threes 80; in one byte per value 120.
    model = Model(**FIELDS)
    assert model.kv_bytes_per_token == 240
    assert model.model_copy(update={"kv_heads": 2}).kv_bytes_per_token == 80
    assert model.model_copy(update={"bytes_per_value": 1}).kv_bytes_per_token == 120


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("layers", 0),
        ("layers", 2.5),
        ("kv_heads", -1),
        ("weight_bytes", 0),
        ("weight_bytes", float("inf")),
        ("bytes_per_value", True),
        ("name", "two words"),
        ("experts", 8),
    ],
)
def test_impossible_values_and_unknown_keys_are_refused(key, value):
    with pytest.raises(ValidationError, match=key):
        Model(**{**FIELDS, key: value})


def test_a_model_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        read_model("bloom-176b").layers = 3
