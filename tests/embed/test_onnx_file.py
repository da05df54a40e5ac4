import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

from opengcd import Workspace
from opengcd.embed import EmbedderError, load_embedder
from opengcd.embed.onnx_file import MEAN, STD
from opengcd.workspace import WorkspaceError
from tests.helpers.pictures import KNOWN, RECOGNIZER, paint, truth
from tests.helpers.resizing import watch_sizes


def network(file, nodes, output, rows="n", side=8, channels=3):
    """Write a network of a few nodes from ``x`` to ``y``."""
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, channels, side, side])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, file)
    return str(file)


def mean_colour(file, **shape):
    nodes = [helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0)]
    return network(file, nodes, [shape.get("rows", "n"), 3], **shape)


def plain(colour):
    return Image.new("RGB", (20, 12), colour)


@pytest.mark.parametrize("rows", ["n", 2])
def test_a_name_that_is_not_text(tmp_path, rows):
    file = mean_colour(tmp_path / "mean.onnx", rows=rows)
    raw = (tmp_path / "mean.onnx").read_bytes()
    (tmp_path / "mean.onnx").write_bytes(raw.replace(b"\x01x", b"\x01\x8d"))
    with pytest.raises(EmbedderError, match="not text"):
        load_embedder(file, device="cpu")


def test_by_hand(tmp_path):
    embedder = load_embedder(mean_colour(tmp_path / "mean.onnx"), device="cpu")
    colours = [(255, 0, 0), (0, 51, 102), (9, 9, 9)]
    expected = [(np.array(colour) / 255 - MEAN) / STD for colour in colours]
    found = embedder([plain(colour) for colour in colours])
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert (found.dtype, embedder.name) == (np.float32, str(tmp_path / "mean.onnx"))


def test_the_middle_of_an_image_is_taken(tmp_path):
    wide = Image.new("RGB", (60, 20), "red")
    wide.paste("blue", (14, 0, 46, 20))
    embedder = load_embedder(mean_colour(tmp_path / "mean.onnx"), device="cpu")
    np.testing.assert_allclose(embedder([wide]), embedder([plain("blue")]), atol=1e-4)


@pytest.mark.parametrize("rows", ["n", 4])
def test_batches_of_any_and_of_one_size(tmp_path, rows):
    embedder = load_embedder(mean_colour(tmp_path / "mean.onnx", rows=rows), device="cpu", batch_size=3)
    images = [plain((i, 2 * i, 3 * i)) for i in range(10)]
    parts = list(embedder.stream(images))
    assert [len(part) for part in parts] == ([4, 4, 2] if rows == 4 else [3, 3, 3, 1])
    np.testing.assert_array_equal(np.concatenate(parts), embedder(images))
    assert np.ptp(np.concatenate(parts)[:, 0]) > 0.1


def test_tokens_and_maps(tmp_path):
    # Tokens: the pixels of one channel, one number each.
    shape = helper.make_node("Constant", [], ["s"], value=helper.make_tensor("s", TensorProto.INT64, [3], [0, 3, 64]))
    file = network(tmp_path / "tokens.onnx", [shape, helper.make_node("Reshape", ["x", "s"], ["y"])], ["n", 3, 64])
    (first,) = load_embedder(file, device="cpu")([plain("red")])
    (mean,) = load_embedder(file, device="cpu", pooling="mean")([plain("red")])
    np.testing.assert_allclose(first, np.full(64, (1 - MEAN[0]) / STD[0]), rtol=1e-5)
    np.testing.assert_allclose(mean, np.full(64, ((np.array([1, 0, 0]) - MEAN) / STD).mean()), rtol=1e-4)
    file = network(tmp_path / "map.onnx", [helper.make_node("Identity", ["x"], ["y"])], ["n", 3, 8, 8])
    np.testing.assert_allclose(
        load_embedder(file, device="cpu", pooling="mean")([plain("red")])[0],
        (np.array([1, 0, 0]) - MEAN) / STD,
        rtol=1e-4,
    )
    with pytest.raises(EmbedderError, match="'mean' for a map"):
        load_embedder(file, device="cpu")([plain("red")])


def test_fingerprints(tmp_path):
    one = load_embedder(mean_colour(tmp_path / "a.onnx"), device="cpu")
    same = load_embedder(mean_colour(tmp_path / "b.onnx"), device="cpu")
    other = load_embedder(mean_colour(tmp_path / "c.onnx", side=10), device="cpu")
    assert one.fingerprint == same.fingerprint != other.fingerprint
    (tmp_path / "b.onnx.data").write_bytes(b"weights of a large network")
    assert load_embedder(str(tmp_path / "b.onnx"), device="cpu").fingerprint != one.fingerprint


def test_a_workspace_embeds_by_an_onnx_file(world, tmp_path, monkeypatch):
    known, stream = world
    mean_colour(tmp_path / "mean.onnx")
    monkeypatch.chdir(tmp_path)
    with Workspace.create("w", "mean.onnx", recognizer=RECOGNIZER) as workspace:
        assert workspace.fit(known) == []
        found = [(truth(one.path), one.top[0][0]) for one in workspace.recognize([stream])]
    assert all(label == said for label, said in found if label in KNOWN)
    monkeypatch.chdir(stream)  # the file is found from anywhere
    mean_colour(tmp_path / "mean.onnx", side=10)
    with (
        Workspace(tmp_path / "w") as workspace,
        pytest.raises(WorkspaceError, match="not the one that this workspace was made with"),
    ):
        list(workspace.recognize(paint(tmp_path / "new", "red", [999])))


def test_files_that_are_no_such_network(tmp_path):
    (tmp_path / "noise.onnx").write_bytes(b"noise")
    with pytest.raises(EmbedderError, match="does not contain a"):
        load_embedder(str(tmp_path / "noise.onnx"), device="cpu")
    with pytest.raises(EmbedderError, match="does not contain a"):
        load_embedder(str(tmp_path / "none.onnx"), device="cpu")
    with pytest.raises(EmbedderError, match="batch × 3 × height × width"):
        load_embedder(mean_colour(tmp_path / "grey.onnx", channels=1), device="cpu")


def test_a_network_that_does_not_give_a_row_for_each_image(tmp_path):
    total = helper.make_node("ReduceMean", ["x"], ["y"], keepdims=0)
    single = helper.make_node("ReduceMean", ["x"], ["y"], axes=[0, 2, 3], keepdims=0)
    text = [helper.make_node("Cast", ["x"], ["t"], to=TensorProto.STRING), helper.make_node("Identity", ["t"], ["y"])]
    for name, nodes, output in (("total", [total], []), ("single", [single], [3])):
        embedder = load_embedder(network(tmp_path / f"{name}.onnx", nodes, output), device="cpu")
        with pytest.raises(EmbedderError, match="must have a row for each of 2 images"):
            embedder([plain("red")] * 2)
    graph = helper.make_graph(
        text,
        "text",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.STRING, ["n", 3, 8, 8])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "text.onnx")
    model.graph.ClearField("output")
    onnx.save(model, tmp_path / "mute.onnx")
    for name in ("text", "mute"):
        with pytest.raises(EmbedderError):
            load_embedder(str(tmp_path / f"{name}.onnx"), device="cpu")([plain("red")])


# What is in a file or an image cannot exhaust this process.


@pytest.mark.parametrize("size", [(1, 600_000), (79_000_000, 1)])
def test_a_long_image_is_not_blown_up(tmp_path, size, monkeypatch):
    """Its shorter side is enlarged, and all of its length with it; only its middle is looked at."""
    long = Image.new("RGB", size, "red")
    middle = tuple(max(0, side // 2 - 50) for side in size)
    long.paste("blue", (*middle, middle[0] + min(100, size[0]), middle[1] + min(100, size[1])))
    embedder = load_embedder(mean_colour(tmp_path / "mean.onnx"), device="cpu")
    resized = watch_sizes(monkeypatch)
    np.testing.assert_allclose(embedder([long]), embedder([plain("blue")]), atol=1e-4)
    assert max(resized) <= 10 * 10 * 101


def test_an_image_that_cannot_be_prepared_is_told_of(tmp_path, monkeypatch):
    embedder = load_embedder(mean_colour(tmp_path / "mean.onnx"), device="cpu", batch_size=4)
    images = [plain("red"), plain("blue"), Image.new("RGB", (7, 9))]
    expected, resize = embedder(images[:2]), Image.Image.resize
    for error, reason in ((MemoryError(), "more memory than there is"), (OverflowError("too large"), "too large")):

        def fail(image, *arguments, error=error):
            if image.size == (7, 9):
                raise error
            return resize(image, *arguments)

        monkeypatch.setattr(Image.Image, "resize", fail)
        with pytest.raises(EmbedderError, match=rf"An image of 7 × 9 cannot be prepared .*: .*{reason}"):
            embedder(images)
    np.testing.assert_array_equal(embedder(images[:2]), expected)


def test_images_that_fit_into_memory_one_by_one_only(tmp_path, monkeypatch):
    embedder = load_embedder(mean_colour(tmp_path / "mean.onnx"), device="cpu", batch_size=4)
    images = [plain((9 * i, i, 0)) for i in range(6)]
    expected, stack, sizes = embedder(images), np.stack, []

    def stack_few(part):
        sizes.append(len(part))
        if len(part) > 1:
            raise MemoryError
        return stack(part)

    monkeypatch.setattr(np, "stack", stack_few)
    np.testing.assert_array_equal(embedder(images), expected)
    assert sorted(sizes) == [1] * 6 + [2, 4]


@pytest.mark.parametrize(
    "shape",
    [
        {"rows": 2**40},
        {"side": 300_000},
        {"side": 2049},
        {"rows": 17, "side": 2048},
        {"rows": 0},
        {"side": 0},
    ],
    ids=str,
)
def test_networks_for_images_of_an_absurd_size_or_number(tmp_path, shape):
    file = mean_colour(tmp_path / "mean.onnx", **shape)
    with pytest.raises(EmbedderError, match=r"a side may have 1 to 2048 pixels"):
        load_embedder(file, device="cpu")


def test_nothing_in_a_file_is_printed_by_the_library(tmp_path, capfd):
    name = "\x1b]0;title\x07\x1b[2J"
    nodes = [helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0)]
    wrong = [helper.make_node("Reshape", ["x", "s"], ["y"], name=name)]
    shape = helper.make_node("Constant", [], ["s"], value=helper.make_tensor("s", TensorProto.INT64, [2], [7, 9]))
    steering = onnx.load(network(tmp_path / "steering.onnx", nodes, ["n", 7]))  # it gives 3 numbers, not 7
    steering.graph.node[0].output[0] = steering.graph.output[0].name = name
    onnx.save(steering, tmp_path / "steering.onnx")
    load_embedder(str(tmp_path / "steering.onnx"))([plain("red")])
    with pytest.raises(EmbedderError, match="cannot be run"):
        load_embedder(network(tmp_path / "wrong.onnx", [shape, *wrong], ["n", "m"]))([plain("red")])
    whole = (tmp_path / "steering.onnx").read_bytes()
    for damaged in (b"noise", whole[: len(whole) // 2], whole.replace(b"ReduceMean", b"ReduceMany")):
        (tmp_path / "damaged.onnx").write_bytes(damaged)
        with pytest.raises(EmbedderError, match="does not contain a"):
            load_embedder(str(tmp_path / "damaged.onnx"))
    assert capfd.readouterr() == ("", "")


def test_a_gpu_that_cannot_be_used_is_done_without(tmp_path, monkeypatch, capfd):
    import onnxruntime

    tried = []

    def start(file, options, providers, **settings):
        tried.append(providers)
        if len(providers) > 1:
            raise RuntimeError("no driver")
        return session(file, options, providers, **settings)

    session = onnxruntime.InferenceSession
    gpu, cpu = "CUDAExecutionProvider", "CPUExecutionProvider"
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [gpu, cpu])
    monkeypatch.setattr(onnxruntime, "InferenceSession", start)
    assert load_embedder(mean_colour(tmp_path / "mean.onnx"))([plain("red")]).shape == (1, 3)
    assert tried == [[gpu, cpu], [cpu]]
    assert capfd.readouterr() == ("", "")
