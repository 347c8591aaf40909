#include "drills/shadow/trainer/model.h"

#include <algorithm>
#include <cmath>

namespace triodrill::shadow::trainer {
namespace {

// Of a matrix whose rows are `width` long.
size_t At(int row, int width, int column = 0) {
  return static_cast<size_t>(row) * static_cast<size_t>(width) + static_cast<size_t>(column);
}

constexpr float kLearningRate = 0.2F;
constexpr float kMomentum = 0.9F;

// What a random number is for; keeps the streams of one seed apart.
enum class Stream : uint64_t { kTeacher = 1, kFirst = 2, kSecond = 3, kInputs = 4 };

uint64_t Mix(uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

uint64_t Key(uint64_t seed, Stream stream, uint64_t a, uint64_t b) {
  return Mix(Mix(Mix(seed ^ (static_cast<uint64_t>(stream) << 56)) ^ a) ^ b);
}

// In [-1, 1), by its place in the stream: 24 bits, so that the float is exact.
float Uniform(uint64_t key, uint64_t index) { return static_cast<float>(Mix(key ^ index) >> 40) * 0x1p-23F - 1.0F; }

float Softsign(float x) { return x / (1.0F + std::fabs(x)); }

struct Parts {
  size_t first = 0;  // kInputs x hidden
  size_t first_bias = 0;
  size_t second = 0;  // hidden x kOutputs
  size_t second_bias = 0;
};

Parts PartsOf(const Layout& layout) {
  const auto hidden = static_cast<size_t>(layout.Hidden());
  Parts parts;
  parts.first_bias = hidden * kInputs;
  parts.second = parts.first_bias + hidden;
  parts.second_bias = parts.second + hidden * kOutputs;
  return parts;
}

// What the model is to learn: not linear, without noise.
void MakeRows(uint64_t seed, int64_t step, int replica, Pass& pass) {
  const uint64_t rows = Key(seed, Stream::kInputs, static_cast<uint64_t>(step), static_cast<uint64_t>(replica));
  const uint64_t teacher = Key(seed, Stream::kTeacher, 0, 0);
  float slopes[kInputs * kOutputs];
  for (size_t i = 0; i < std::size(slopes); ++i) slopes[i] = 0.5F * Uniform(teacher, i);
  for (size_t i = 0; i < pass.inputs.size(); ++i) pass.inputs[i] = Uniform(rows, i);
  std::fill(pass.targets.begin(), pass.targets.end(), 0.0F);
  for (int row = 0; row < kBatch; ++row) {
    const float* x = &pass.inputs[static_cast<size_t>(row) * kInputs];
    float* target = &pass.targets[static_cast<size_t>(row) * kOutputs];
    for (int i = 0; i < kInputs; ++i) {
      for (int o = 0; o < kOutputs; ++o) target[o] += x[i] * slopes[i * kOutputs + o];
    }
    for (int o = 0; o < kOutputs; ++o) target[o] = 2.0F * Softsign(2.0F * target[o]);
  }
}

}  // namespace

State InitialState(const Layout& layout, uint64_t seed, int shard) {
  const Parts parts = PartsOf(layout);
  const int hidden = layout.Hidden();
  State state;
  state.weights.assign(layout.Parameters(), 0.0F);
  state.momentum.assign(layout.Parameters(), 0.0F);
  const uint64_t first = Key(seed, Stream::kFirst, 0, 0);
  const uint64_t second = Key(seed, Stream::kSecond, 0, 0);
  // By the unit's number in the whole model: the split does not change what the model is.
  for (int unit = 0; unit < hidden; ++unit) {
    const uint64_t global = static_cast<uint64_t>(shard) * static_cast<uint64_t>(hidden) + static_cast<uint64_t>(unit);
    for (int i = 0; i < kInputs; ++i) {
      state.weights[parts.first + At(i, hidden, unit)] =
          0.3F * Uniform(first, global * kInputs + static_cast<uint64_t>(i));
    }
    for (int o = 0; o < kOutputs; ++o) {
      state.weights[parts.second + At(unit, kOutputs, o)] =
          0.15F * Uniform(second, global * kOutputs + static_cast<uint64_t>(o));
    }
  }
  return state;
}

void Forward(const Layout& layout, uint64_t seed, int64_t step, int replica, std::span<const float> weights, Pass& pass,
             std::span<float> partial) {
  const Parts parts = PartsOf(layout);
  const int hidden = layout.Hidden();
  pass.inputs.resize(static_cast<size_t>(kBatch) * kInputs);
  pass.targets.resize(kPartial);
  pass.sums.resize(At(kBatch, hidden));
  pass.hidden.resize(At(kBatch, hidden));
  MakeRows(seed, step, replica, pass);
  for (int row = 0; row < kBatch; ++row) {
    const float* x = &pass.inputs[static_cast<size_t>(row) * kInputs];
    float* sums = &pass.sums[At(row, hidden)];
    float* out = &pass.hidden[At(row, hidden)];
    float* y = &partial[static_cast<size_t>(row) * kOutputs];
    std::fill_n(sums, hidden, 0.0F);
    for (int i = 0; i < kInputs; ++i) {
      const float* column = &weights[parts.first + At(i, hidden)];
      for (int unit = 0; unit < hidden; ++unit) sums[unit] += x[i] * column[unit];
    }
    for (int unit = 0; unit < hidden; ++unit) {
      out[unit] = Softsign(sums[unit] + weights[parts.first_bias + static_cast<size_t>(unit)]);
    }
    for (int o = 0; o < kOutputs; ++o) y[o] = weights[parts.second_bias + static_cast<size_t>(o)];
    for (int unit = 0; unit < hidden; ++unit) {
      const float* second = &weights[parts.second + At(unit, kOutputs)];
      for (int o = 0; o < kOutputs; ++o) y[o] += out[unit] * second[o];
    }
  }
}

double Backward(const Layout& layout, std::span<const float> weights, const Pass& pass, std::span<const float> outputs,
                std::span<float> gradient) {
  const Parts parts = PartsOf(layout);
  const int hidden = layout.Hidden();
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  double loss = 0;
  std::vector<float> back(static_cast<size_t>(hidden));
  for (int row = 0; row < kBatch; ++row) {
    const float* x = &pass.inputs[static_cast<size_t>(row) * kInputs];
    const float* sums = &pass.sums[At(row, hidden)];
    const float* out = &pass.hidden[At(row, hidden)];
    float error[kOutputs];
    for (int o = 0; o < kOutputs; ++o) {
      const size_t at = At(row, kOutputs, o);
      const float difference = outputs[at] - pass.targets[at];
      loss += static_cast<double>(difference) * static_cast<double>(difference);
      error[o] = difference * (2.0F / static_cast<float>(kPartial));
      // Each shard's bias takes its share of what the one bias of an undivided model would take.
      gradient[parts.second_bias + static_cast<size_t>(o)] += error[o] / static_cast<float>(layout.tensor_parallel);
    }
    for (int unit = 0; unit < hidden; ++unit) {
      const size_t second = parts.second + At(unit, kOutputs);
      float through = 0.0F;
      for (int o = 0; o < kOutputs; ++o) {
        gradient[second + static_cast<size_t>(o)] += out[unit] * error[o];
        through += weights[second + static_cast<size_t>(o)] * error[o];
      }
      const float z = 1.0F + std::fabs(sums[unit] + weights[parts.first_bias + static_cast<size_t>(unit)]);
      back[static_cast<size_t>(unit)] = through / (z * z);
      gradient[parts.first_bias + static_cast<size_t>(unit)] += back[static_cast<size_t>(unit)];
    }
    for (int i = 0; i < kInputs; ++i) {
      float* column = &gradient[parts.first + At(i, hidden)];
      for (int unit = 0; unit < hidden; ++unit) column[unit] += x[i] * back[static_cast<size_t>(unit)];
    }
  }
  return loss / kPartial;
}

void SumInRankOrder(std::span<const float> blocks, int count, size_t stride, float scale, std::span<float> into) {
  std::copy_n(blocks.begin(), into.size(), into.begin());
  for (int block = 1; block < count; ++block) {
    const float* from = &blocks[static_cast<size_t>(block) * stride];
    for (size_t i = 0; i < into.size(); ++i) into[i] += from[i];
  }
  for (float& value : into) value *= scale;
}

void Apply(std::span<const float> gradient, State& state) {
  for (size_t i = 0; i < gradient.size(); ++i) {
    state.momentum[i] = kMomentum * state.momentum[i] + gradient[i];
    state.weights[i] -= kLearningRate * state.momentum[i];
  }
  ++state.step;
}

double ColumnChecksumError(const Layout& layout, std::span<const float> weights, const Pass& pass) {
  const int hidden = layout.Hidden();
  double sums[kInputs] = {};
  double sizes[kInputs] = {};
  for (int row = 0; row < kBatch; ++row) {
    for (int i = 0; i < kInputs; ++i) {
      const double x = pass.inputs[At(row, kInputs, i)];
      sums[i] += x;
      sizes[i] += std::fabs(x);
    }
  }
  double worst = 0;
  for (int unit = 0; unit < hidden; ++unit) {
    double want = 0;
    double got = 0;
    double size = 1e-300;
    for (int i = 0; i < kInputs; ++i) {
      const double weight = weights[At(i, hidden, unit)];
      want += sums[i] * weight;
      size += sizes[i] * std::fabs(weight);
    }
    for (int row = 0; row < kBatch; ++row) got += pass.sums[At(row, hidden, unit)];
    const double error = std::fabs(want - got) / (0x1p-23 * size);
    if (!(error <= worst)) worst = error;  // also when it is not a number
    if (!std::isfinite(error)) return error;
  }
  return worst;
}

}  // namespace triodrill::shadow::trainer
