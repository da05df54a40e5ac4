"""Tiny networks in the Hugging Face format."""

import json

TINY = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "image_size": 32,
    "patch_size": 8,
    "initializer_range": 0.5,
}
PREPARATION = {
    "image_processor_type": "ViTImageProcessor",
    "do_resize": True,
    "size": {"height": 32, "width": 32},
    "resample": 2,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}


def saved(folder, model, preparation=None):
    """Write a network with its preparation of images; return it, and its name as an embedder."""
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(PREPARATION | (preparation or {})))
    return model.eval(), str(folder)
