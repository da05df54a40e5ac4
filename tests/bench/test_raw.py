import pickle
import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from opengcd.bench import RawDatasetError, load_dataset, make_features, read_raw
from opengcd.cli import app
from opengcd.embed import Pixels

NAMES = [f"class_{c}" for c in range(10)]
BATCHES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]


def pixels(seed):
    return np.random.default_rng(seed).integers(0, 256, (10, 3072), dtype=np.uint8)


def labels(seed):
    return np.random.default_rng(seed).permutation(10).tolist()


def write_pickle(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(pickle.dumps(content, protocol=2))


@pytest.fixture
def python10(tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    write_pickle(folder / "batches.meta", {"label_names": NAMES, "num_vis": 3072})
    for seed, name in enumerate(BATCHES):
        write_pickle(folder / name, {"data": pixels(seed), "labels": labels(seed), "filenames": ["a.png"] * 10})
    return folder


@pytest.fixture
def binary10(tmp_path):
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    (folder / "batches.meta.txt").write_text("\n".join(NAMES) + "\n\n")
    for seed, name in enumerate(BATCHES):
        records = np.column_stack([np.array(labels(seed), dtype=np.uint8), pixels(seed)])
        (folder / f"{name}.bin").write_bytes(records.tobytes())
    return folder


@pytest.fixture
def cub(tmp_path):
    folder = tmp_path / "CUB_200_2011"
    rng = np.random.default_rng(0)
    lists = {"images": [], "image_class_labels": [], "train_test_split": []}
    for number in range(1, 10):
        c = (number - 1) // 3 + 1
        path = f"{c:03}.Kind_{c}_Bird/Bird_{number:04}.jpg"
        file = folder / "images" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(rng.integers(0, 256, (12, 10, 3), dtype=np.uint8))
        (picture.convert("L") if number == 4 else picture).save(file)  # CUB has a few grey images
        lists["images"].append(f"{number} {path}")
        lists["image_class_labels"].append(f"{number} {c}")
        lists["train_test_split"].append(f"{number} {int(number % 3 > 0)}")
    lists["classes"] = [f"{c} {c:03}.Kind_{c}_Bird" for c in (1, 2, 3)]
    for name, lines in lists.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


def test_a_cifar_image_by_hand(tmp_path):
    """Bytes of a record: the label, then rows of red, rows of green, rows of blue."""
    record = np.zeros(3072, dtype=np.uint8)
    record[1] = 10  # red of the second pixel in the first row
    record[1024 + 32] = 20  # green of the first pixel in the second row
    record[3071] = 30  # blue of the last pixel
    (tmp_path / "fine_label_names.txt").write_text("apple\n")
    for name in ("train.bin", "test.bin"):
        (tmp_path / name).write_bytes(bytes([7, 0]) + record.tobytes())
    data = read_raw(tmp_path, "cifar100")
    image = next(data.images)
    assert image.size == (32, 32)
    assert image.getpixel((1, 0)) == (10, 0, 0)
    assert image.getpixel((0, 1)) == (0, 20, 0)
    assert image.getpixel((31, 31)) == (0, 0, 30)
    assert np.asarray(image).sum() == 60


@pytest.mark.parametrize("version", ["python10", "binary10"])
def test_cifar10_to_features_and_back(request, tmp_path, version):
    folder = request.getfixturevalue(version)
    steps = []
    file = make_features(tmp_path, "cifar10", Pixels(32), tmp_path / "out" / "a", lambda *s: steps.append(s))
    assert file == tmp_path / "out" / "a" / "cifar10.npz"
    assert steps[-1] == ("embedding images", 60, 60)
    with np.load(file) as arrays:
        assert arrays["x_train"].dtype == arrays["x_test"].dtype == np.float16
        first = arrays["x_train"][0].reshape(32, 32, 3).transpose(2, 0, 1).ravel()
    np.testing.assert_allclose(first, pixels(0)[0] / 255, atol=1e-3)
    data = load_dataset(file.parent, "cifar10")
    assert data.y_train.tolist() == [c for seed in range(5) for c in labels(seed)]
    assert data.y_test.tolist() == labels(5)
    assert data.class_names == NAMES
    assert (data.x_train.shape, data.x_test.shape) == ((50, 3072), (10, 3072))
    # The folder itself may be given, too.
    assert next(read_raw(folder, "cifar10").images).tobytes() == next(read_raw(tmp_path, "cifar10").images).tobytes()


@pytest.mark.parametrize("version", ["python", "binary"])
def test_cifar100_takes_the_fine_labels(tmp_path, version):
    folder = tmp_path / f"cifar-100-{version}"
    folder.mkdir()
    coarse = [1] * 10
    for seed, part in enumerate(("train", "test")):
        if version == "python":
            batch = {"data": pixels(seed), "fine_labels": labels(seed), "coarse_labels": coarse}
            write_pickle(folder / part, batch)
        else:
            columns = np.array([coarse, labels(seed)], dtype=np.uint8).T
            (folder / f"{part}.bin").write_bytes(np.hstack([columns, pixels(seed)]).tobytes())
    if version == "python":
        write_pickle(folder / "meta", {"fine_label_names": NAMES, "coarse_label_names": ["a", "b"]})
    else:
        (folder / "fine_label_names.txt").write_text("\n".join(NAMES))
        (folder / "coarse_label_names.txt").write_text("a\nb\n")
    data = read_raw(tmp_path, "cifar100")
    assert (data.y_train.tolist(), data.y_test.tolist()) == (labels(0), labels(1))
    assert data.class_names == NAMES
    assert len(list(data.images)) == 20


# Pickles.


def test_pickles_of_python_2_and_of_both_spellings_of_numpy(python10):
    expected = pixels(0)[0].tobytes()
    file = python10 / "data_batch_1"
    raw = file.read_bytes()
    modern, old = b"numpy._core.multiarray", b"numpy.core.multiarray"
    for spelling in (modern, old):
        file.write_bytes(raw.replace(modern, spelling).replace(old, spelling))
        assert spelling in file.read_bytes()
        image = next(read_raw(python10, "cifar10").images)
        assert np.asarray(image).transpose(2, 0, 1).tobytes() == expected
    # Python 2 wrote text as bytes; these are its instructions, one after another.
    file.write_bytes(
        b"\x80\x02}(U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x0aM\x00\x0c\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T\x00\x78\x00\x00"
        + pixels(0).tobytes()
        + b"tbU\x06labels](" + b"".join(b"K" + bytes([c]) for c in labels(0)) + b"eu."
    )  # fmt: skip
    data = read_raw(python10, "cifar10")
    assert np.asarray(next(data.images)).transpose(2, 0, 1).tobytes() == expected
    assert data.y_train[:10].tolist() == labels(0)


class Calls:
    """Pickles as a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def test_a_malicious_pickle_is_refused_and_not_executed(python10, tmp_path):
    marker = tmp_path / "executed"
    calls = [Calls(open, str(marker), "w"), Calls(exec, f"open({str(marker)!r}, 'w')"), Calls(getattr, 1, "real")]
    for call in [*calls, Calls(np.fromfile, "x"), Calls(np.ndarray.__reduce__), Calls(np.array, [1])]:
        write_pickle(python10 / "data_batch_3", {"data": call, "labels": labels(2)})
        with pytest.raises(RawDatasetError, match=r"data_batch_3 .*tries to call .*nothing was executed"):
            read_raw(tmp_path, "cifar10")
    assert not marker.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2], "holds a list, not a dictionary"),
        ({"data": pixels(0)}, "no list 'labels'"),
        ({"labels": labels(0)}, "data of shape none"),
        ({"data": pixels(0)[:9], "labels": labels(0)}, r"10 labels, and data of shape \(9, 3072\)"),
        ({"data": pixels(0)[:, :-1], "labels": labels(0)}, r"data of shape \(10, 3071\)"),
        ({"data": pixels(0).astype(float), "labels": labels(0)}, "type 'f8', not bytes"),
        ({"data": np.full((10, 3072), "a", dtype=object), "labels": labels(0)}, "type 'O8', not bytes"),
        ({"data": pixels(0), "labels": [*labels(0)[:-1], 10]}, "label 10, but labels run from 0 to 9"),
        ({"data": pixels(0), "labels": [*labels(0)[:-1], -1]}, "label -1"),
        ({"data": pixels(0), "labels": [*labels(0)[:-1], "1"]}, "label '1'"),
    ],
    ids=range(10),
)
def test_damaged_batches(python10, content, message):
    write_pickle(python10 / "test_batch", content)
    with pytest.raises(RawDatasetError, match=f"test_batch.*{message}"):
        read_raw(python10, "cifar10")


def test_cut_pickles_and_missing_files(python10):
    file = python10 / "data_batch_2"
    raw = file.read_bytes()
    for wrong in (raw[:-100], raw[:1], b"", b"text", b"\x80\x02(lp0\n."):
        file.write_bytes(wrong)
        with pytest.raises(RawDatasetError, match="data_batch_2 cannot be read as a CIFAR file"):
            read_raw(python10, "cifar10")
    file.unlink()
    with pytest.raises(RawDatasetError, match=r"data_batch_2 cannot be read \(No such file"):
        read_raw(python10, "cifar10")


# Other damage.


def test_cut_and_wrong_binary_files(binary10):
    file = binary10 / "data_batch_4.bin"
    raw = file.read_bytes()
    for wrong in (raw[:-1], raw[:3000], b""):
        file.write_bytes(wrong)
        with pytest.raises(RawDatasetError, match=r"data_batch_4\.bin is cut short.*3073 bytes of a record"):
            read_raw(binary10, "cifar10")
    file.write_bytes(b"\x0a" + raw[1:])
    with pytest.raises(RawDatasetError, match=r"data_batch_4\.bin.* label 10"):
        read_raw(binary10, "cifar10")
    file.write_bytes(raw)
    (binary10 / "batches.meta.txt").write_text("\n")
    with pytest.raises(RawDatasetError, match=r"batches\.meta\.txt is empty"):
        read_raw(binary10, "cifar10")
    (binary10 / "batches.meta.txt").write_text("\n".join([*NAMES, "horse"]))
    with pytest.raises(RawDatasetError, match="no training images of 1 classes, such as 'horse'"):
        read_raw(binary10, "cifar10")


def test_cub_to_features_and_back(cub, tmp_path):
    data = load_dataset(make_features(tmp_path, "cub", Pixels(), tmp_path / "out").parent, "cub")
    assert data.class_names == ["Kind 1 Bird", "Kind 2 Bird", "Kind 3 Bird"]
    assert data.y_train.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.y_test.tolist() == [0, 1, 2]
    with Image.open(cub / "images" / "003.Kind_3_Bird" / "Bird_0009.jpg") as last:
        expected = Pixels()([last])[0]
    np.testing.assert_allclose(data.x_test[2], expected / np.linalg.norm(expected), atol=1e-3)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("images", "1 001.Kind_1_Bird/", "1 ../", r"'\.\./Bird_0001\.jpg', which is outside the folder"),
        ("images", "1 001.Kind_1_Bird/", "1 001.Kind_1_Bird/../../../", "is outside the folder"),
        ("images", "1 001.Kind_1_Bird/", "1 /etc/", "is outside the folder"),
        ("images", "Bird_0002.jpg", "Bird_0099.jpg", r"Bird_0099\.jpg is missing"),
        ("images", "2 001", "1 001", "'1 001.*' is not a new number"),
        ("images", "9 003.Kind_3_Bird/Bird_0009.jpg", "", "list different images"),
        ("image_class_labels", "9 3", "9 4", "class '4', which classes.txt does not list"),
        ("image_class_labels", "9 3", "9", "'9' is not a new number"),
        ("train_test_split", "9 0", "9 2", r"1 \(training\) or 0 \(test\)"),
        ("train_test_split", "9 0", "9 1", "no test images of 1 classes, such as 'Kind 3 Bird'"),
        ("classes", "3 003", "4 003", "class '3', which classes.txt does not list"),
    ],
    ids=range(11),
)
def test_damaged_lists_of_cub(cub, name, old, new, message):
    file = cub / f"{name}.txt"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(RawDatasetError, match=message):
        read_raw(cub, "cub")


def test_missing_and_foreign_lists_of_cub(cub):
    (cub / "train_test_split.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RawDatasetError, match=r"train_test_split\.txt is damaged: it is not text"):
        read_raw(cub, "cub")
    (cub / "train_test_split.txt").unlink()
    with pytest.raises(RawDatasetError, match=r"train_test_split\.txt cannot be read"):
        read_raw(cub, "cub")


def test_an_unreadable_image_is_named_and_no_file_is_left(cub, tmp_path):
    image = cub / "images" / "002.Kind_2_Bird" / "Bird_0005.jpg"
    raw = image.read_bytes()
    for wrong in (raw[: len(raw) // 2], b"no image", b""):
        image.write_bytes(wrong)
        with pytest.raises(RawDatasetError, match=r"Bird_0005\.jpg cannot be read"):
            make_features(cub, "cub", Pixels(), tmp_path / "out")
        assert not list((tmp_path / "out").iterdir())


def test_images_are_opened_one_at_a_time(cub):
    data = read_raw(cub, "cub")
    next(data.images)
    (cub / "images" / "001.Kind_1_Bird" / "Bird_0002.jpg").unlink()  # the second
    with pytest.raises(RawDatasetError, match=r"Bird_0002\.jpg cannot be read"):
        next(data.images)


def test_names_and_places_that_are_not_there(tmp_path, monkeypatch):
    with pytest.raises(RawDatasetError, match="'mnist' cannot be read; choose from cifar10, cifar100, cub"):
        read_raw(tmp_path, "mnist")
    for name, message in [
        ("cifar10", "no data_batch_1 or data_batch_1.bin there or in cifar-10-batches-py or cifar-10-batches-bin"),
        ("cifar100", "no train or train.bin there or in cifar-100-python"),
        ("cub", "no images.txt there or in CUB_200_2011"),
    ]:
        with pytest.raises(RawDatasetError, match=rf"There is no {name} in .*\({message}.*unpack its archive"):
            make_features(tmp_path, name, Pixels(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install \"opengcd\[embed\]\""):
        read_raw(tmp_path, "cub")


class Returns:
    """An embedder that returns what it is told to."""

    name = "returns"

    def __init__(self, rows):
        self.rows = rows

    def __call__(self, images, total=None, progress=None):
        if isinstance(self.rows, BaseException):
            next(images)
            raise self.rows
        return self.rows


def test_an_interruption_leaves_the_old_file(cub, tmp_path, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        make_features(cub, "cub", Returns(KeyboardInterrupt()), tmp_path)
    assert not list(tmp_path.glob("*.npz"))
    before = make_features(cub, "cub", Pixels(), tmp_path).read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        make_features(cub, "cub", Pixels(4), tmp_path)
    assert (tmp_path / "cub.npz").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["CUB_200_2011", "cub.npz"]


def test_what_an_embedder_returns_is_checked(cub, tmp_path):
    for rows, message in [(np.ones((8, 2)), "8 rows for 9 images"), (np.full((9, 2), np.nan), "NaN or infinite")]:
        with pytest.raises(ValueError, match=message):
            make_features(cub, "cub", Returns(rows), tmp_path)
    assert not list(tmp_path.glob("*.npz"))
    # 1e6 is more than float16 can hold.
    make_features(cub, "cub", Returns(np.full((9, 4), 1e6, dtype=np.float32)), tmp_path)
    np.testing.assert_allclose(load_dataset(tmp_path, "cub").x_train, 0.5)


def test_the_command_line_makes_missing_features_first(python10, tmp_path):
    runner, features, out = CliRunner(), tmp_path / "features", tmp_path / "out"
    command = [
        "bench",
        "run",
        "--raw",
        str(tmp_path),
        "--features",
        str(features),
        "--out",
        str(out),
        "--methods",
        "csr-svm",
    ]
    done = runner.invoke(app, [*command, "--embedder", "pixels", "--datasets", "cifar10"])
    assert done.exit_code == 0, done.output
    assert "cifar10.npz: made with pixels" in done.output
    assert "cifar10 csr-svm seed 0: done" in done.output
    before = (features / "cifar10.npz").stat().st_mtime_ns
    again = runner.invoke(app, [*command, "--embedder", "pixels", "--datasets", "cifar10"])
    assert again.exit_code == 0, again.output
    assert (features / "cifar10.npz").stat().st_mtime_ns == before
    missing = runner.invoke(app, [*command, "--embedder", "pixels", "--datasets", "cub"])
    assert missing.exit_code == 1
    assert "There is no cub in" in missing.output
