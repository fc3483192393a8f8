//! What the names in `tokenizer.ggml.pre` mean: how text is cut before byte pairs are merged. The
//! patterns are those of the tokenizers that these names stand for.

use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::punctuation::Punctuation;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    NormalizerWrapper, PreTokenizerWrapper, Result as TokenizersResult, SplitDelimiterBehavior,
};

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const GPT4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const KIMI_K2: &str = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const DEEPSEEK_V3_WORDS: &str = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";
const CJK_KANA: &str = "[\u{4e00}-\u{9fa5}\u{3040}-\u{309f}\u{30a0}-\u{30ff}]+";
const CJK_HANGUL: &str = "[\u{4e00}-\u{9fa5}\u{800}-\u{4e00}\u{ac00}-\u{d7ff}]+";
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
// The cased letters as DeepSeek LLM's tokenizer lists them, by range.
const DEEPSEEK_LLM_LETTERS: &str = "\\s?[A-Za-z\u{b5}\u{c0}-\u{d6}\u{d8}-\u{f6}\u{f8}-\u{1ba}\u{1bc}-\u{1bf}\u{1c4}-\u{293}\u{295}-\u{2af}\u{370}-\u{373}\u{376}\u{377}\u{37b}-\u{37d}\u{37f}\u{386}\u{388}-\u{38a}\u{38c}\u{38e}-\u{3a1}\u{3a3}-\u{3f5}\u{3f7}-\u{481}\u{48a}-\u{52f}\u{531}-\u{556}\u{10a0}-\u{10c5}\u{13a0}-\u{13f5}\u{13f8}-\u{13fd}\u{1c90}-\u{1cba}\u{1cbd}-\u{1cbf}\u{1d00}-\u{1d2b}\u{1d6b}-\u{1d77}\u{1d79}-\u{1d9a}\u{1e00}-\u{1f15}\u{1f18}-\u{1f1d}\u{1f20}-\u{1f45}\u{1f48}-\u{1f4d}\u{1f50}-\u{1f57}\u{1f59}\u{1f5b}\u{1f5d}\u{1f5f}-\u{1f7d}\u{1f80}-\u{1fb4}\u{1fb6}-\u{1fbc}\u{1fbe}\u{1fc2}-\u{1fc4}\u{1fc6}-\u{1fcc}\u{1fd0}-\u{1fd3}\u{1fd6}-\u{1fdb}\u{1fe0}-\u{1fec}\u{1ff2}-\u{1ff4}\u{1ff6}-\u{1ffc}\u{2102}\u{2107}\u{210a}-\u{2113}\u{2115}\u{2119}-\u{211d}\u{2124}\u{2126}\u{2128}\u{212a}-\u{212d}\u{212f}-\u{2134}\u{2139}\u{213c}-\u{213f}\u{2145}-\u{2149}\u{214e}\u{2183}\u{2184}\u{2c00}-\u{2c7b}\u{2c7e}-\u{2ce4}\u{2ceb}-\u{2cee}\u{2cf2}\u{2cf3}\u{a640}-\u{a66d}\u{a680}-\u{a69b}\u{a722}-\u{a76f}\u{a771}-\u{a787}\u{a78b}-\u{a78e}\u{ab70}-\u{abbf}\u{fb00}-\u{fb06}\u{fb13}-\u{fb17}\u{ff21}-\u{ff3a}\u{ff41}-\u{ff5a}\u{10400}-\u{1044f}\u{104b0}-\u{104d3}\u{104d8}-\u{104fb}\u{10c80}-\u{10cb2}\u{10cc0}-\u{10cf2}\u{118a0}-\u{118df}\u{1e900}-\u{1e943}]+";
const DEEPSEEK_LLM_MARKS: &str =
    "\\s?[!-/:-~\u{ff01}-\u{ff0f}\u{ff1a}-\u{ff5e}\u{2018}-\u{201f}\u{3000}-\u{3002}]+";

/// How a byte-level vocabulary of a GGUF file cuts text.
pub struct Recipe {
    steps: &'static [Step],
    nfc: bool,
    /// A whole piece that is a token is taken as it is, without merging.
    pub ignore_merges: bool,
}

enum Step {
    Split(&'static str),
    Digits {
        individual: bool,
    },
    Punctuation,
    /// The byte-level alphabet; cuts by GPT-2's pattern first when asked.
    Bytes {
        cut: bool,
    },
}

use Step::{Bytes, Punctuation as Marks, Split as Cut};

const WHOLE: &[Step] = &[Bytes { cut: true }];
const SINGLE_DIGITS: &[Step] = &[Step::Digits { individual: true }, Bytes { cut: true }];

const fn recipe(steps: &'static [Step]) -> Recipe {
    Recipe { steps, nfc: false, ignore_merges: false }
}
const fn with_nfc(steps: &'static [Step]) -> Recipe {
    Recipe { steps, nfc: true, ignore_merges: false }
}
const fn without_merges(steps: &'static [Step]) -> Recipe {
    Recipe { steps, nfc: false, ignore_merges: true }
}

/// The recipe of a name, or nothing when the name is not known.
pub fn recipe_of(name: &str) -> Option<Recipe> {
    const BYTES: Step = Bytes { cut: false };
    Some(match name {
        "gpt-2" | "phi-2" | "mellum" | "jais" | "trillion" | "granite-docling" | "exaone4"
        | "gigachat" | "a.x-4.0" => recipe(WHOLE),
        "mpt" | "olmo" => with_nfc(WHOLE),
        "smollm" | "starcoder" | "refact" | "codeshell" | "exaone" | "minerva-7b" | "mellum2" => {
            recipe(SINGLE_DIGITS)
        }
        "command-r" => with_nfc(SINGLE_DIGITS),
        "llama-bpe" | "llama3" | "llama-v3" | "falcon3" | "falcon-h1" | "pixtral" | "midm-2.0"
        | "lfm2" | "glm4" | "glm5" => without_merges(&[Cut(LLAMA3), BYTES]),
        "chatglm-bpe" | "dbrx" | "smaug-bpe" => recipe(&[Cut(LLAMA3), BYTES]),
        "qwen2" | "deepseek-r1-qwen" | "megrez" => with_nfc(&[Cut(QWEN2), BYTES]),
        "stablelm2" | "hunyuan" | "solar-open" | "grok-2" | "kormo" | "f2llmv2" => {
            recipe(&[Cut(QWEN2), BYTES])
        }
        "qwen35" => with_nfc(&[Cut(QWEN35), BYTES]),
        "gpt-4o" | "llama4" | "kanana2" | "minimax-m2" => recipe(&[Cut(GPT4O), BYTES]),
        "tekken" => without_merges(&[Cut(TEKKEN), BYTES]),
        "kimi-k2" => recipe(&[Cut(KIMI_K2), BYTES]),
        "tiny_aya" | "cohere2moe" => recipe(&[Cut(r"\d{1,3}(?=(?:\d{3})*\b)"), Cut(GPT4O), BYTES]),
        "seed-coder" => recipe(&[
            Cut(
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+",
            ),
            BYTES,
        ]),
        "bailingmoe" | "bailingmoe2" | "llada-moe" => recipe(&[
            Cut(
                r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
            ),
            BYTES,
        ]),
        "deepseek-v3" | "hunyuan-dense" | "joyai-llm" => {
            recipe(&[Cut(r"\p{N}{1,3}"), Cut(CJK_KANA), Cut(DEEPSEEK_V3_WORDS), BYTES])
        }
        "deepseek-llm" => recipe(&[
            Cut("[\r\n]"),
            Cut(DEEPSEEK_LLM_LETTERS),
            Cut(DEEPSEEK_LLM_MARKS),
            Cut("\\s+$"),
            Cut(CJK_HANGUL),
            Step::Digits { individual: true },
            BYTES,
        ]),
        "deepseek-coder" => recipe(&[
            Cut("[\r\n]"),
            Cut("\\s?\\p{L}+"),
            Cut("\\s?\\p{P}+"),
            Cut(CJK_HANGUL),
            Step::Digits { individual: true },
            BYTES,
        ]),
        "falcon" => recipe(&[
            Marks,
            Bytes { cut: true },
            Step::Digits { individual: false },
            Cut("[0-9][0-9][0-9]"),
        ]),
        // What files written before the names existed were run with; only ever taken by name.
        "default" => recipe(&[
            Cut(r"[\p{P}\$\+<=>\^~\|]+"),
            Cut(GPT2),
            Cut(r"\p{N}+"),
            Cut("[0-9][0-9][0-9]"),
            BYTES,
        ]),
        _ => return None,
    })
}

impl Recipe {
    pub fn normalizer(&self) -> Option<NormalizerWrapper> {
        self.nfc.then_some(NormalizerWrapper::NFC(NFC))
    }

    pub fn pre_tokenizer(&self) -> TokenizersResult<PreTokenizerWrapper> {
        let mut steps = Vec::new();
        for step in self.steps {
            steps.push(match step {
                Cut(pattern) => PreTokenizerWrapper::Split(Split::new(
                    SplitPattern::Regex((*pattern).into()),
                    SplitDelimiterBehavior::Isolated,
                    false,
                )?),
                Step::Digits { individual } => {
                    PreTokenizerWrapper::Digits(Digits::new(*individual))
                }
                Marks => PreTokenizerWrapper::Punctuation(Punctuation::new(
                    SplitDelimiterBehavior::Contiguous,
                )),
                Bytes { cut } => PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, false, *cut)),
            });
        }
        Ok(PreTokenizerWrapper::Sequence(Sequence::new(steps)))
    }
}
