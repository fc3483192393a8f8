"""Texts on which tokenizers differ when something is wrong, written here for this purpose."""

import random

SAMPLES = [
    "", " ", "  ", "\t", "\n", "\n\n", " \n", "\r\n", "\r", "a", " a", "a ", "  a  ", "A\u00a0b",
    "Hello, world!", "Hello  world   again    four", "don't can't I'LL we've they'RE It'S o'clock",
    "1", "12", "123", "1234", "12345678", "3.14159", "1,000,000.00", "2024-02-30T12:61:00Z", "\u00b2\u00b3\u00bd\u2167\u0663",
    "Caf\u00e9 d\u00e9j\u00e0 vu \u2014 123 \U0001f642 na\u00efve", "Cafe\u0301 de\u0301ja\u0300 vu", "\u212b \u00c5 A\u030a \u1e9b\u0323",
    "\u010f \u0165 \u013e \u0159\u00e9k\u00e1 \u017dlu\u0165ou\u010dk\u00fd k\u016f\u0148", "Stra\u00dfe GRO\u1e9eE \u0130stanbul \u0131\u0131\u0131 \ufb01nance",
    "\U0001f600\U0001f601\U0001f923", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 family", "\U0001f44b\U0001f3fd wave", "\U0001f1e8\U0001f1ed\U0001f1ef\U0001f1f5", "\u2764\ufe0f\u2763\ufe0e",
    "\u4f60\u597d\uff0c\u4e16\u754c\uff01\u6211\u7231\u4f60\u3002", "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3067\u3059\u3002\u30ab\u30bf\u30ab\u30ca\uff76\uff85", "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8\uc785\ub2c8\ub2e4.",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e, \u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u0661\u0662\u0663", "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0401\u043b\u043a\u0430", "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u039a\u03cc\u03c3\u03bc\u03b5", "\u0b85\u0bae\u0bcd\u0bae\u0bbe", "\U00010348 \U0001d4d7\U0001d4ee", "\u02bc\u2019\u2018quotes\u201d",
    "def f(x):\n    if x > 0:\n\t\treturn x ** 2  # square\n    return None\n",
    "for (int i = 0; i < n; ++i) { a[i] += b[i] * 0x1F; }\n\n\n}\n", "<div class=\"a b\">&nbsp;&amp;</div>", "SELECT * FROM t WHERE a='b' -- c",
    "{\"key\": [1, 2.5e-3, null, true], \"k\u00e9y\": \"v\\n\"}", "https://example.org/a/b?c=d&e=%20#f", "user@example.org", "C:\\Windows\\System32",
    "a" * 100, "ab" * 80, " " * 70 + "x", "\n" * 40, "\t" * 17 + "y", "x" + " \t" * 20 + "z", "=" * 60, "-" * 33 + "\n" + "*" * 33,
    "!?!?...,,,;;;:::'''\"\"\"``", "$100 \u20ac50 \u00a320 \u00a530 \u20b91,00,000", "a_b_c camelCase PascalCase SCREAMING_CASE", "x\u200by\u200cz\u2060w\ufeff",
    "\x00\x01\x02\x1b[31mred\x1b[0m\x7f", "a\u0000b", "\u0085\u2028\u2029\u3000x", "\u1680\u2003\u2009 thin",
    "<s>", "</s>", "<unk>", "<s>a</s>", "<|endoftext|>", "<|im_start|>user\nhi<|im_end|>\n", "<|im_end", "<|im_start|><|im_start|>", " <|im_end|> x",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n", "<bos><start_of_turn>user\nA<end_of_turn>", "A<|turn>B<turn|>C",
    "<tool_call>\n{\"name\": \"f\"}\n</tool_call>", "<think>x</think>", "<\uff5cUser\uff5c>hi<\uff5cAssistant\uff5c>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>x", "<|start|>system<|message|>y<|end|>",
    "<0x41>", "<0x0A><0xE2>", "\u2581", "\u2581a\u2581b", " \u2581 ", "[INST] x [/INST]", "[MASK][CLS]", "\u0120hello \u010a",
    "The quick brown fox jumps over the lazy dog.", "It was the best of times, it was the worst of times;",
    "\u00bfQu\u00e9 tal? \u00a1Muy bien!", "\u00c0 bient\u00f4t, \u00e7a va?", "Gr\u00f6\u00dfe \u00fcber \u00c4pfel", "z\u0301\u0302\u0303\u0304 stacked \u0338\u20d2",
    "\ufffd\ufffd", "\ue000\uf8ff\U000f0000", "\U0010ffff", "\u0378 unassigned", "\u2460\u2461 \u3231 \u33a1", "1\u00bd cups 2\u207f",
]

ALPHABETS = [
    "abcdefghij ", "ABCxyz019 .,!?'\n", "\u00e9\u00e0\u00fc\u00dfo\u0301\u0308e a", "\u4e2d\u6587\u5b57\u7b26\u3002\uff0c \u3042\u30a2", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0915\u093e",
    " \t\n\r\u00a0\u3000x", "0123456789.,-", "\U0001f600\u200d\ufe0f\U0001f3fd\U0001f44bx ", "<|>/im_startend \n", "'sStTrReEvVmMlLdD \u017f",
    "\x00\x01\x7f\x80\x9fa ", "\ud55c\uad6d \u0e01\u0e33 \u0661\u0662", "(){}[];=+-*/\\\"'`#@&|~^%$",
]


def texts():
    """All samples, then random mixtures from a fixed seed."""
    out = list(SAMPLES)
    rng = random.Random(7)
    for alphabet in ALPHABETS:
        for length in (3, 9, 30, 90):
            for _ in range(3):
                out.append("".join(rng.choice(alphabet) for _ in range(length)))
    for _ in range(60):
        out.append("".join(rng.choice(rng.choice(ALPHABETS)) for _ in range(rng.randint(1, 60))))
    for _ in range(20):
        out.append(" ".join(rng.choice(SAMPLES) for _ in range(8)))
    return out
