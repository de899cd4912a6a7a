// SPDX-License-Identifier: Apache-2.0
// Counts, sizes and durations as users write them, and as they are written back.
#include "config/units.h"

#include <gtest/gtest.h>

namespace penstock::config {
namespace {

using namespace std::chrono_literals;

TEST(Count, is_plain_decimal_digits) {
  EXPECT_EQ(parse_count("0"), 0U);
  EXPECT_EQ(parse_count("1000"), 1000U);
  EXPECT_EQ(parse_count("1000000000000000"), 1'000'000'000'000'000U);
}

TEST(Count, is_never_guessed_from_anything_else) {
  for (const auto* text : {"", "010", "0x10", "1_000", "1e3", "1.0", "-1", "+1", " 1", "1 ", "ten", "1000000000000001",
                           "99999999999999999999999"}) {
    EXPECT_EQ(parse_count(text), std::nullopt) << text;
  }
}

TEST(Size, is_a_number_with_a_binary_unit) {
  EXPECT_EQ(parse_size("0B"), 0U);
  EXPECT_EQ(parse_size("512B"), 512U);
  EXPECT_EQ(parse_size("64KiB"), 65536U);
  EXPECT_EQ(parse_size("1.5MiB"), 1572864U);
  EXPECT_EQ(parse_size("1GiB"), 1073741824U);
}

TEST(Size, without_a_unit_or_with_a_foreign_one_is_refused) {
  for (const auto* text : {"", "64", "64K", "64KB", "64kib", "64 KiB", "KiB", "-1B", "1.B", ".5KiB", "0.3B", "1e3B",
                           "99999999GiB", "1.2.3KiB"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(Size, is_written_in_the_largest_unit_that_takes_a_whole_number) {
  EXPECT_EQ(write_size(0), "0B");
  EXPECT_EQ(write_size(65536), "64KiB");
  EXPECT_EQ(write_size(1572864), "1536KiB");
  EXPECT_EQ(write_size(1023), "1023B");
}

TEST(Number, is_plain_decimal_digits_with_or_without_a_point) {
  EXPECT_EQ(parse_number("50"), 50.0);
  EXPECT_EQ(parse_number("0.25"), 0.25);
  for (const auto* text :
       {"", "-1", "+1", "1e3", ".5", "5.", "1.2.3", "inf", "nan", "0x10", " 1", "1 ", "1000000000000001"})
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
}

TEST(Rate, is_so_many_in_a_unit_or_in_a_duration) {
  EXPECT_EQ(parse_rate("15/s"), (Rate{15, 1s}));
  EXPECT_EQ(parse_rate("0.5/s"), (Rate{0.5, 1s}));
  EXPECT_EQ(parse_rate("900/m"), (Rate{900, 60s}));
  EXPECT_EQ(parse_rate("1800/h"), (Rate{1800, 1h}));
  EXPECT_EQ(parse_rate("5000/d"), (Rate{5000, 24h}));
  EXPECT_EQ(parse_rate("300/15m"), (Rate{300, 15min}));
  EXPECT_EQ(parse_rate("10/100ms"), (Rate{10, 100ms}));
  for (const auto* text :
       {"", "15", "/s", "15/", "15/sec", "15 /s", "15/s/s", "-15/s", "nan/s", "0/s", "15/0s", "15/ s"})
    EXPECT_EQ(parse_rate(text), std::nullopt) << text;
}

TEST(Rate, is_written_as_it_is_read) {
  for (const auto* text : {"15/s", "0.5/s", "900/m", "1800/h", "5000/d", "300/15m", "10/100ms"})
    EXPECT_EQ(write_rate(parse_rate(text).value()), text);
}

TEST(Rate, is_kept_by_a_pacer_that_leaves_room_for_jitter) {
  EXPECT_DOUBLE_EQ(pacer_of({20, 1s}).qps, 20 / 1.022);      // one every 51.1 ms
  EXPECT_DOUBLE_EQ(pacer_of({500, 60s}).qps, 500 / 60.022);  // one every 120.044 ms
  EXPECT_EQ(pacer_of({20, 1s}).keeps, (Rate{20, 1s}));
}

TEST(Rate, is_kept_by_a_window_too_that_lets_as_many_pass) {
  const auto limits = limits_of({20, 1s});
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0], (LimitConfig{pacer_of({20, 1s}), "rate"}));
  EXPECT_EQ(limits[1], (LimitConfig{SlidingWindowConfig{20, 1019900us, true}, "rate.window"}));
  EXPECT_EQ(limits_of({500, 60s}, "rate2")[1],
            (LimitConfig{SlidingWindowConfig{500, 60019900us, true}, "rate2.window"}));
  EXPECT_EQ(limits_of({10'000, 1s}).size(), 2u);
}

TEST(Rate, of_a_fraction_is_whole_in_a_longer_time) {
  EXPECT_EQ(in_whole_units({0.5, 1s}), (Rate{1, 2s}));
  EXPECT_EQ(in_whole_units({2.5, 1s}), (Rate{5, 2s}));
  EXPECT_EQ(in_whole_units({0.1, 60s}), (Rate{1, 600s}));
  EXPECT_EQ(in_whole_units({33.33, 60s}), (Rate{3333, 6000s}));
  EXPECT_EQ(in_whole_units({20, 1s}), (Rate{20, 1s}));
}

TEST(Rate, of_more_units_than_a_window_remembers_is_kept_by_the_pacer_alone) {
  for (const Rate rate : {Rate{10'001, 1s}, Rate{1e6, 1s}, Rate{5000.00001, 1s}, Rate{1, 366 * 24h}})
    EXPECT_EQ(limits_of(rate).size(), 1u) << rate.count;
}

TEST(Rate, is_written_in_the_first_unit_that_leaves_one_or_more) {
  EXPECT_EQ(write_rate(15), "15/s");
  EXPECT_EQ(write_rate(0.5), "30/m");
  EXPECT_EQ(write_rate(0.01), "36/h");
  EXPECT_EQ(write_rate(0.0001), "0.36/h");
}

TEST(DurationText, is_written_in_the_largest_unit_that_takes_a_whole_number) {
  EXPECT_EQ(write_duration(0s), "0s");
  EXPECT_EQ(write_duration(30s), "30s");
  EXPECT_EQ(write_duration(90s), "90s");
  EXPECT_EQ(write_duration(60s), "60s");
  EXPECT_EQ(write_duration(2min), "2m");
  EXPECT_EQ(write_duration(24h), "24h");
  EXPECT_EQ(write_duration(1us), "1us");
  EXPECT_EQ(write_duration(1500ms), "1500ms");
  EXPECT_EQ(write_duration(48h), "2d");
}

TEST(DurationText, is_read_with_its_unit_only) {
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("1.5h"), 90min);
  EXPECT_EQ(parse_duration("0s"), 0s);
  for (const auto* text : {"", "30", "0", "s", "-1s", "1 s", "1e3s", "1.s", ".5s", "30sec", "1S", "3651d"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace penstock::config
