"""Weights -> the form that CTranslate2 loads: NumPy and CTranslate2's own specification classes.

CTranslate2 (github.com/OpenNMT/CTranslate2) starts and decodes a trained Transformer faster than
the framework it was trained in. The names of `model/` map one to one: kernels are stored [out, in]
there, the fused projections are kept as they are.

Turn embeddings are what CTranslate2 calls a source feature: its source tokens are then the number
of a token, U+FFE8 and how many turns ago it was said.

Attention that CTranslate2 returns, for alignments and coverage, is the mean over the heads of the
last decoder layer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
from ctranslate2.specs import TransformerEncoderModelSpec, TransformerEncoderSpec, TransformerSpec
from ctranslate2.specs.common_spec import Activation, EmbeddingsMerge

from nmt_cli.errors import ConfigError, did_you_mean
from nmt_cli.model.weights import Arrays, never_written_bias, sinusoids

NUMBER_FORMATS = (
    "float32",
    "float16",
    "bfloat16",
    "int8",
    "int8_float32",
    "int8_float16",
    "int8_bfloat16",
    "int16",
)
_TURNS = "encoder.turns"
_OLD_EPSILON = 1e-6  # of models that were written before it could be chosen
_SELF_PARTS, _CROSS_PARTS = ("query_key_value", "output"), ("query", "key_value", "output")
_ACTIVATIONS = {
    "relu": Activation.RELU,
    "gelu": Activation.GELU,  # the exact form, as in model/layers.py; GELUTanh approximates it
    "silu": Activation.SWISH,
    "swiglu": Activation.SWISH,
}


def check_number_format(name: str) -> None:
    """Raise ConfigError unless CTranslate2 has a number format of that name."""
    if name not in NUMBER_FORMATS:
        raise ConfigError(
            f"--format must be one of {', '.join(NUMBER_FORMATS)} (it is {name})."
            f"{did_you_mean(name, NUMBER_FORMATS)}"
        )


@dataclass(frozen=True)
class Conversion:
    """What is converted."""

    model: Mapping[str, Any]  # the `model` section of the configuration
    weights: Arrays  # every weight by name
    source_tokens: Sequence[str]  # the source vocabulary in the order of its ids
    target_tokens: Sequence[str]  # the target vocabulary in the order of its ids
    num_tags: int = 0  # tokens of languages in it

    def write(self, folder: Path, number_format: str = "float32") -> None:
        """Write `model.bin`, `config.json` and the vocabulary into a folder, made if missing."""
        spec = self._spec()
        spec.config.layer_norm_epsilon = self.model.get("norm_epsilon", _OLD_EPSILON)
        spec.validate()
        spec.optimize(quantization=number_format.replace("bfloat16", "float32"))
        if number_format.endswith("bfloat16"):
            _store_in_bfloat16(spec)
        folder.mkdir(parents=True, exist_ok=True)
        spec.save(str(folder))

    def _spec(self) -> Any:
        model, weights = self.model, self.weights
        spec = TransformerSpec.from_config(
            (model["encoder_layers"], model["decoder_layers"]),
            model["num_heads"],
            **self._layers(),
            alignment_layer=-1,
            alignment_heads=0,  # all
            num_source_embeddings=2 if _TURNS in weights else 1,
            embeddings_merge=EmbeddingsMerge.ADD,
        )
        self._fill_stack(spec.encoder, "encoder")
        self._fill_stack(spec.decoder, "decoder")
        shared = weights.get("embedding")
        target = weights.get("target_embedding", shared)
        spec.encoder.embeddings[0].weight = weights.get("source_embedding", shared)
        spec.decoder.embeddings.weight = target
        spec.decoder.projection.weight = weights.get("output_embedding", target)
        bias = never_written_bias(len(self.target_tokens), self.num_tags)
        spec.decoder.projection.bias = bias + weights.get("output_bias", 0.0)
        # No token is unknown; a name that is no token would be added beyond the table.
        spec.config.unk_token = self.target_tokens[0]
        if _TURNS in weights:
            self._fill_turns(spec)
        else:
            spec.register_source_vocabulary(list(self.source_tokens))
        spec.register_target_vocabulary(list(self.target_tokens))
        return spec

    def _fill_turns(self, spec: Any) -> None:
        """Set the turn embeddings, which CTranslate2 adds before it scales the sum."""
        turns = self.weights[_TURNS]
        spec.encoder.embeddings[1].weight = turns / self.model["d_model"] ** 0.5
        # By number, as a token may hold the separator; but the unknown token must be found.
        numbers = map(str, range(1, len(self.source_tokens)))
        spec.register_source_vocabulary([self.source_tokens[0], *numbers])
        spec.register_source_vocabulary(list(map(str, range(len(turns)))))

    def _layers(self) -> dict[str, Any]:
        """Return what layers are like, as CTranslate2's specifications want to know it."""
        return {
            "pre_norm": self.model["norm"] == "pre",
            "activation": _ACTIVATIONS[self.model["activation"]],
            "ffn_glu": self.model["activation"] == "swiglu",
            "layernorm_embedding": self.model.get("embedding_norm", "none") != "none",
        }

    def _fill_stack(self, spec: Any, side: str) -> None:
        """Set the layers of the encoder or of the decoder, their last norm and their positions."""
        model, weights = self.model, self.weights
        spec.scale_embeddings = True
        spec.position_encodings.encodings = (
            sinusoids(model["max_length"], model["d_model"])
            if model["positions"] == "sinusoidal"
            else weights[f"{side}.positions"]
        )
        if (normed := model.get("embedding_norm", "none")) in (side, "both"):
            self._fill_norm(spec.layernorm_embedding, f"{side}.embedding_norm")
        elif normed != "none":
            del spec.layernorm_embedding  # both sides were given one
        if model["norm"] == "pre":
            self._fill_norm(spec.layer_norm, f"{side}.norm")
        for number, layer in enumerate(spec.layer, start=1):
            name = f"{side}.layer{number}"
            self._fill_attention(layer.self_attention, f"{name}.self_att", _SELF_PARTS)
            if side == "decoder":
                self._fill_attention(layer.attention, f"{name}.cross_att", _CROSS_PARTS)
            self._fill_feed_forward(layer.ffn, f"{name}.feed_forward")

    def _fill_attention(self, spec: Any, name: str, parts: Sequence[str]) -> None:
        self._fill_norm(spec.layer_norm, f"{name}.norm")
        for linear, part in zip(spec.linear, parts, strict=True):
            linear.weight = self.weights[f"{name}.{part}"].T
            if self.model.get("attention_bias"):
                linear.bias = self.weights[f"{name}.{part}_bias"]

    def _fill_feed_forward(self, spec: Any, name: str) -> None:
        """Set the feed-forward part; the activation acts on `linear_0`, in SwiGLU on the gate."""
        gated = self.model["activation"] == "swiglu"
        linears = [(spec.linear_0, "gate" if gated else "inner"), (spec.linear_1, "outer")]
        linears += [(spec.linear_0_noact, "inner")] if gated else []
        self._fill_norm(spec.layer_norm, f"{name}.norm")
        for linear, part in linears:
            linear.weight = self.weights[f"{name}.{part}.kernel"].T
            linear.bias = self.weights[f"{name}.{part}.bias"]

    def _fill_norm(self, spec: Any, name: str) -> None:
        spec.gamma = self.weights[f"{name}.scale"]
        spec.beta = self.weights[f"{name}.bias"]


class EncoderConversion(Conversion):
    """A classifier without its head, which CTranslate2 has no place for."""

    def _spec(self) -> Any:
        sizes = (self.model["encoder_layers"], self.model["num_heads"])
        encoder = TransformerEncoderSpec(*sizes, **self._layers())
        self._fill_stack(encoder, "encoder")
        encoder.embeddings[0].weight = self.weights["embedding"]
        spec = TransformerEncoderModelSpec(encoder)
        spec.config.unk_token = self.source_tokens[0]
        spec.register_vocabulary(list(self.source_tokens))
        return spec


def _store_in_bfloat16(spec: Any) -> None:
    """Round what is still float32 in a specification; CTranslate2 itself needs PyTorch for it."""
    for name, variable in spec.variables().items():
        is_array = not isinstance(variable, str) and variable.shape  # the others: aliases, scalars
        if is_array and variable.dtype == "float32" and not name.endswith("_scale"):
            variable.array = variable.array.astype(ml_dtypes.bfloat16)
