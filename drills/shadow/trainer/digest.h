// Short summaries of vectors of floats, by their bits. Pure. Not cryptographic: they are to notice accidents.
#pragma once

#include <cstdint>
#include <span>

#include "drills/shadow/trainer/model.h"

namespace triodrill::shadow::trainer {

// Each word is mixed in by a bijection, so that two vectors that differ in one word always differ in their hash.
uint64_t HashOf(std::span<const float> values, uint64_t before = 0xCBF29CE484222325U);

// Of parameters and optimizer state.
uint64_t StateHash(const State& state);

// The sum in double precision, in order: whoever adds the same bits gets the same bits.
double SumOf(std::span<const float> values);

double SquaredNorm(std::span<const float> values);

// By bits: two NaN of the same bits are equal, 0 and -0 are not.
bool SameBits(std::span<const float> a, std::span<const float> b);
bool SameBits(double a, double b);

}  // namespace triodrill::shadow::trainer
