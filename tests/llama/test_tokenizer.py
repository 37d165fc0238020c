"""Settings of a tokenizer beside tokenizer.json: followed, or one line; tokens of transformers."""

import json

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from jaxtheory import InputError
from jaxtheory.llama import text as texts

TEXT = "the walk <s> goes <x>round</s> the circle <y> and 123 selects its é parent\r\n"
CLASS = {"tokenizer_class": "PreTrainedTokenizerFast"}  # transformers takes tokenizer.json as it is
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
TOKEN = FLAGS | {"content": "<s>", "special": True}


@pytest.fixture(scope="module")
def trained():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        [TEXT], trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet)
    )
    tokenizer.add_special_tokens([AddedToken("<s>"), AddedToken("</s>")])
    return tokenizer


@pytest.fixture
def folder(trained, tmp_path):
    trained.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    return tmp_path


def write(folder, settings, name="tokenizer_config.json"):
    (folder / name).write_text(json.dumps(settings))


SPLIT = CLASS | {"split_special_tokens": True}
SAME = {
    "nothing": {},
    "a class": CLASS,
    "other settings": CLASS
    | {"model_max_length": 5, "legacy": False, "add_prefix_space": True, "add_bos_token": True},
    "the tokens of the file": CLASS
    | {"bos_token": "<s>", "eos_token": {"__type": "AddedToken", "content": "</s>", "lstrip": True}}
    | {"added_tokens_decoder": {"300": TOKEN}},
    "tokens that the text has not": CLASS
    | {"pad_token": "<pad>", "additional_special_tokens": ["<z>"], "unk_token": None}
    | {"added_tokens_decoder": {"300": TOKEN, "400": TOKEN | {"content": "<z>"}}},
    "not split": CLASS | {"split_special_tokens": False},
    "no other files": CLASS | {"fast_tokenizer_files": ["tokenizer.json"], "auto_map": {}},
}


@pytest.mark.parametrize("settings", SAME.values(), ids=SAME)
def test_settings_that_change_nothing(folder, trained, settings):
    write(folder, settings)
    ids = texts.encode(TEXT, folder)
    np.testing.assert_array_equal(ids, trained.encode(TEXT, add_special_tokens=False).ids)


def test_special_tokens_are_split_if_the_settings_say_so(folder, trained):
    write(folder, SPLIT)
    ids, sizes = texts.encode_sizes(TEXT, folder)
    intact_ids = trained.encode(TEXT, add_special_tokens=False).ids
    assert len(ids) > len(intact_ids) and not {300, 301} & {*ids} and {300, 301} <= {*intact_ids}
    assert trained.decode(ids.tolist()) == TEXT and int(sizes.sum()) == len(TEXT.encode())


ADDED = {
    "a token": {"added_tokens_decoder": {"400": TOKEN | {"content": "<x>"}}},
    "another flag": {"added_tokens_decoder": {"300": TOKEN | {"lstrip": True}}},
    "a name": {"pad_token": "<x>"},
    "a name of its own": {"image_token": {"__type": "AddedToken", "content": "<y>"}},
    "a word": {"bos_token": "walk"},
    "a list": {"additional_special_tokens": ["<z>", "<y>"]},
    "objects in a list": {"extra_special_tokens": [{"__type": "AddedToken", "content": "<y>"}]},
    "names and tokens": {"extra_special_tokens": {"image_token": "<y>"}},
}


@pytest.mark.parametrize("settings", ADDED.values(), ids=ADDED)
def test_tokens_of_the_text_that_only_the_settings_have(folder, trained, settings):
    write(folder, CLASS | settings)
    with pytest.raises(InputError, match=r"a token by tokenizer_config\.json") as refused:
        texts.encode(TEXT, folder)
    assert "\n" not in str(refused.value)
    plain = " and 123 its"
    np.testing.assert_array_equal(texts.encode(plain, folder), trained.encode(plain).ids)


OLDER = [
    ("special_tokens_map.json", {"pad_token": "<x>"}),
    ("special_tokens_map.json", {"additional_special_tokens": ["<y>"]}),
    ("added_tokens.json", {"<x>": 400}),
]


@pytest.mark.parametrize(("name", "settings"), OLDER)
def test_older_files_count_where_transformers_reads_them(folder, trained, name, settings):
    write(folder, CLASS)
    write(folder, settings, name)
    with pytest.raises(InputError, match=r"special_tokens_map\.json or added_tokens\.json"):
        texts.encode(TEXT, folder)
    write(folder, CLASS | {"added_tokens_decoder": {"300": TOKEN}})
    intact_ids = trained.encode(TEXT, add_special_tokens=False).ids
    np.testing.assert_array_equal(texts.encode(TEXT, folder), intact_ids)


@pytest.mark.parametrize("settings", [*SAME.values(), SPLIT, *map(CLASS.__or__, ADDED.values())])
@pytest.mark.parametrize("older", [None, *OLDER], ids=str)
def test_tokens_are_those_of_transformers_or_one_line(folder, trained, settings, older):
    transformers = pytest.importorskip("transformers", reason="the oracle: make oracle")
    write(folder, settings)
    if older is not None:
        write(folder, older[1], older[0])
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    want = theirs(TEXT, add_special_tokens=False)["input_ids"]
    try:
        np.testing.assert_array_equal(texts.encode(TEXT, folder), want)
    except InputError:
        assert want != trained.encode(TEXT, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"auto_map": {"AutoTokenizer": ["a.B", None]}}, "auto_map = {'AutoTokenizer': ['a.B'"),
        (
            {"fast_tokenizer_files": ["tokenizer.4.0.0.json"]},
            "fast_tokenizer_files = ['tokenizer.4",
        ),
        ({"split_special_tokens": "yes"}, "split_special_tokens = 'yes' is not supported; remove"),
        ([], "must be a JSON object"),
    ],
)
def test_settings_that_are_refused(folder, settings, message):
    write(folder, settings)
    with pytest.raises(InputError) as refused:
        texts.encode("a", folder)
    assert message in str(refused.value) and "\n" not in str(refused.value)
