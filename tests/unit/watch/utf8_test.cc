#include "coordinator/watch/utf8.h"

#include <gtest/gtest.h>

namespace triodrill::watch {
namespace {

struct Case {
  const char* name;
  std::string_view bytes;
  std::string_view text;
  int64_t replaced;
};

class Utf8 : public testing::TestWithParam<Case> {};

TEST_P(Utf8, ReplacesWhatIsNotACharacter) {
  int64_t replaced = 0;
  EXPECT_EQ(ToUtf8(GetParam().bytes, replaced), GetParam().text);
  EXPECT_EQ(replaced, GetParam().replaced);
}

#define R "\xEF\xBF\xBD"
INSTANTIATE_TEST_SUITE_P(
    Bytes, Utf8,
    testing::Values(Case{"plain", "step 12", "step 12", 0}, Case{"empty", "", "", 0},
                    Case{"two_bytes", "caf\xC3\xA9", "caf\xC3\xA9", 0},
                    Case{"three_bytes", "\xE2\x82\xAC", "\xE2\x82\xAC", 0},
                    Case{"four_bytes", "\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80", 0},
                    Case{"the_last_code_point", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF", 0},
                    Case{"stray_continuation", "a\x80z", "a" R "z", 1}, Case{"latin1", "caf\xE9.", "caf" R ".", 1},
                    Case{"cut_at_the_end", "a\xE2\x82", "a" R R, 2}, Case{"overlong", "\xC0\xAF", R R, 2},
                    Case{"overlong_of_three", "\xE0\x80\xAF", R R R, 3}, Case{"surrogate", "\xED\xA0\x80", R R R, 3},
                    Case{"past_the_end", "\xF4\x90\x80\x80", R R R R, 4}, Case{"no_lead_byte", "\xFF", R, 1},
                    Case{"nul", std::string_view("a\0b", 3), "a" R "b", 1},
                    Case{"bad_third_byte", "\xE2\x82z", R R "z", 2}),
    [](const auto& one) { return one.param.name; });
#undef R

TEST(PrefixOfCharacters, IsTheWholeTextWhenItFits) { EXPECT_EQ(PrefixOfCharacters("abc", 3), "abc"); }

TEST(PrefixOfCharacters, DoesNotEndWithinACharacter) {
  EXPECT_EQ(PrefixOfCharacters("ab\xE2\x82\xAC", 4), "ab");
  EXPECT_EQ(PrefixOfCharacters("ab\xE2\x82\xAC"
                               "c",
                               5),
            "ab\xE2\x82\xAC");
  EXPECT_EQ(PrefixOfCharacters("\xF0\x9F\x98\x80z", 3), "");
}

TEST(PrefixOfCharacters, KeepsBytesThatBelongToNoCharacter) {
  EXPECT_EQ(PrefixOfCharacters("\x80\x80\x80\x80\x80\x80", 5).size(), 5u);
}

}  // namespace
}  // namespace triodrill::watch
