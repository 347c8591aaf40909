#include "injectors/tensor/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "injectors/os/clock.h"
#include "injectors/tensor/workload_page.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/injectors/training.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::Training;

std::string Message(const Status& status) { return std::string(status.message()); }

class Tensor : public ::testing::Test {
 protected:
  v1::UndoRecord Prepared(const v1::AimedFault& fault) {
    auto record = injector_->Prepare(fault);
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(Nanos(std::chrono::seconds(30)).count());
    return *record;
  }
  v1::AimedFault Fault(const Child& child) { return Aim("tensor.flip", child.identity()); }
  void ExpectLanded(const v1::UndoRecord& record) {
    EXPECT_TRUE(Eventually([&] { return injector_->Inspect(record)->presence == Presence::kPresent; }));
  }
  // How many places of the child's page are free.
  static int Free(const Child& child) {
    const auto process = ProcessHandle::Open(child.identity());
    const auto page = WorkloadPage::Open(*process);
    return page.ok() ? page->FreeRules() : -1;
  }
  static WorkloadPage::RuleLook Look(const Child& child, const v1::UndoRecord& record) {
    const auto process = ProcessHandle::Open(child.identity());
    const auto page = WorkloadPage::Open(*process);
    return page.ok() ? page->Look(record.tensor().token()) : WorkloadPage::RuleLook{};
  }

  const std::unique_ptr<Injector> injector_ = MakeTensorFlip();
};

TEST_F(Tensor, IsFlippedByTheWorkloadWhichWritesDownTheBits) {
  const Child child = Training();
  v1::AimedFault fault = Fault(child);
  fault.mutable_with()->mutable_tensor_flip()->set_index(5);
  fault.mutable_with()->mutable_tensor_flip()->set_bit(31);
  fault.mutable_with()->mutable_tensor_flip()->set_times(1);
  const v1::UndoRecord record = Prepared(fault);
  EXPECT_EQ(record.tensor().phase(), "gradients");
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  SystemClock clock;
  const int64_t before = ToNanos(clock.Now());
  ASSERT_TRUE(injector_->Apply(record).ok());
  ExpectLanded(record);
  const int64_t after = ToNanos(clock.Now());
  const WorkloadPage::RuleLook look = Look(child, record);
  EXPECT_EQ(look.before, 0x40c00000u) << "6.0";
  EXPECT_EQ(look.after, 0xc0c00000u) << "-6.0";
  EXPECT_EQ(look.changed, 1u);
  EXPECT_FALSE(look.armed) << "once was asked for";
  EXPECT_LE(before, look.begun_ns);
  EXPECT_LE(look.done_ns, after);
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("element 5 was 0x40c00000, is 0xc0c00000"));
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(injector_->Revert(record).ok());
    EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
    EXPECT_EQ(Free(child), 8);
  }
}

TEST_F(Tensor, IsFlippedInEveryStepUntilTheRuleIsWithdrawn) {
  const Child child = Training();
  v1::AimedFault fault = Fault(child);
  fault.mutable_with()->mutable_tensor_flip()->set_tensor("reduced_gradients");
  fault.mutable_with()->mutable_tensor_flip()->set_elements(3);
  const v1::UndoRecord record = Prepared(fault);
  EXPECT_EQ(record.tensor().phase(), "reduced");
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_TRUE(Eventually([&] { return Look(child, record).fired >= 5; }));
  EXPECT_GE(Look(child, record).changed, 15u);
  ASSERT_TRUE(injector_->Revert(record).ok());
  EXPECT_FALSE(Look(child, record).held);
}

TEST_F(Tensor, EndsAtItsDeadlineThoughNobodyWithdrawsIt) {
  const Child child = Training();
  v1::UndoRecord record = Prepared(Fault(child));
  record.set_expires_boottime_ns((SinceBoot() + std::chrono::milliseconds(100)).count());
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_TRUE(Eventually([&] { return Look(child, record).expired && !Look(child, record).armed; }));
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Tensor, TwoFaultsOnTwoTensorsStandBesideEachOther) {
  const Child child = Training();
  v1::AimedFault other = Fault(child);
  other.set_shot("1.b.0");
  other.mutable_with()->mutable_tensor_flip()->set_tensor("weights");
  const v1::UndoRecord first = Prepared(Fault(child));
  const v1::UndoRecord second = Prepared(other);
  EXPECT_NE(first.resource(), second.resource());
  ASSERT_TRUE(injector_->Apply(first).ok());
  ASSERT_TRUE(injector_->Apply(second).ok());
  ExpectLanded(first);
  ExpectLanded(second);
  ASSERT_TRUE(injector_->Revert(first).ok());
  EXPECT_EQ(injector_->Inspect(second)->presence, Presence::kPresent);
  EXPECT_EQ(Free(child), 7);
  ASSERT_TRUE(injector_->Revert(second).ok());
}

TEST_F(Tensor, RefusesWhatTheWorkloadDoesNotHave) {
  const Child child = Training();
  const auto refusal = [&](const std::function<void(v1::TensorFlip*)>& change) {
    v1::AimedFault fault = Fault(child);
    change(fault.mutable_with()->mutable_tensor_flip());
    return Message(injector_->Prepare(fault).status());
  };
  EXPECT_THAT(refusal([](auto* with) { with->set_tensor("biases"); }),
              HasSubstr("it has: weights, gradients, reduced_gradients"));
  EXPECT_THAT(refusal([](auto* with) { with->set_phase("reduce"); }),
              HasSubstr("it knows: gradients, reduced, applied"));
  EXPECT_THAT(refusal([](auto* with) { with->set_bit(32); }), HasSubstr("outside its elements of 32 bits"));
  EXPECT_THAT(refusal([](auto* with) { with->set_index(64); }), HasSubstr("outside its 64"));
  EXPECT_THAT(refusal([](auto* with) { with->set_elements(65); }), HasSubstr("outside its 64"));
  EXPECT_EQ(refusal([](auto* with) { with->set_tensor("weights"), with->set_bit(63); }), "");
  const Child without = Training(false);
  EXPECT_THAT(Message(injector_->Prepare(Fault(without)).status()), HasSubstr("must call triodrill_attach"));
}

// Arms a fault of another kind and says what became of the first element that it changed.
class OtherDamage : public Tensor {
 protected:
  WorkloadPage::RuleLook Done(Injector& injector, const Child& child, const v1::AimedFault& fault) {
    auto record = injector.Prepare(fault);
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(Nanos(std::chrono::seconds(30)).count());
    EXPECT_EQ(injector.Inspect(*record)->presence, Presence::kAbsent);
    EXPECT_TRUE(injector.Apply(*record).ok());
    EXPECT_TRUE(Eventually([&] { return injector.Inspect(*record)->presence == Presence::kPresent; }))
        << injector.Inspect(*record)->evidence;
    const WorkloadPage::RuleLook look = Look(child, *record);
    EXPECT_TRUE(injector.Revert(*record).ok());
    EXPECT_EQ(injector.Inspect(*record)->presence, Presence::kAbsent);
    EXPECT_EQ(Free(child), 8);
    return look;
  }
};

TEST_F(OtherDamage, ScalesTheElementsAskedFor) {
  const Child child = Training();
  v1::AimedFault fault = Aim("tensor.scale", child.identity());
  v1::TensorScale& with = *fault.mutable_with()->mutable_tensor_scale();
  with.set_index(5), with.set_elements(2), with.set_factor(1.5), with.set_times(1);
  const WorkloadPage::RuleLook look = Done(*MakeTensorScale(), child, fault);
  EXPECT_EQ(look.before, 0x40c00000u) << "6.0";
  EXPECT_EQ(look.after, 0x41100000u) << "9.0";
  EXPECT_EQ(look.changed, 2u);
}

TEST_F(OtherDamage, MakesElementsNotANumber) {
  const Child child = Training();
  v1::AimedFault fault = Aim("tensor.nan", child.identity());
  v1::TensorNan& with = *fault.mutable_with()->mutable_tensor_nan();
  with.set_index(-1), with.set_elements(3), with.set_times(1);
  const WorkloadPage::RuleLook look = Done(*MakeTensorNan(), child, fault);
  EXPECT_EQ(look.after & 0x7fc00000u, 0x7fc00000u);
  EXPECT_EQ(look.changed, 3u);
}

TEST_F(OtherDamage, SticksOneBitOfOneLane) {
  const Child child = Training();
  v1::AimedFault fault = Aim("tensor.stuck_lane", child.identity());
  v1::TensorStuckLane& with = *fault.mutable_with()->mutable_tensor_stuck_lane();
  // 6, 22, 38 and 54, whose sign becomes negative.
  with.set_lane(5), with.set_lanes(16), with.set_bit(31), with.set_times(1);
  WorkloadPage::RuleLook look = Done(*MakeTensorStuckLane(), child, fault);
  EXPECT_EQ(look.index, 5u);
  EXPECT_EQ(look.after, 0xc0c00000u) << "-6.0";
  EXPECT_EQ(look.changed, 4u);
  with.set_cleared(true), with.set_bit(30);
  fault.set_shot("1.cleared.0");
  look = Done(*MakeTensorStuckLane(), child, fault);
  EXPECT_EQ(look.after, 0x00c00000u);
}

TEST_F(OtherDamage, PutsBackWhatElementsWereBefore) {
  const Child child = Training();
  v1::AimedFault fault = Aim("tensor.stale", child.identity());
  v1::TensorStale& with = *fault.mutable_with()->mutable_tensor_stale();
  with.set_tensor("weights"), with.set_index(2), with.set_elements(4), with.set_times(1);
  const WorkloadPage::RuleLook look = Done(*MakeTensorStale(), child, fault);
  EXPECT_EQ(look.index, 2u);
  EXPECT_EQ(look.changed, 4u);
  // They grow by one in each step, and are positive: an older value has the smaller bits.
  EXPECT_LT(look.after, look.before);
}

TEST_F(OtherDamage, DrawsTheSameStaleBlockAgain) {
  const Child child = Training();
  v1::AimedFault fault = Aim("tensor.stale", child.identity());
  v1::TensorStale& with = *fault.mutable_with()->mutable_tensor_stale();
  with.set_tensor("weights"), with.set_index(-1), with.set_elements(3), with.set_seed(7), with.set_times(1);
  const auto once = MakeTensorStale()->Prepare(fault);
  const auto again = MakeTensorStale()->Prepare(fault);
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(once->tensor().start(), again->tensor().start());
  EXPECT_LE(once->tensor().start(), 5u);
  EXPECT_EQ(Done(*MakeTensorStale(), child, fault).index, once->tensor().start());
}

TEST_F(OtherDamage, RefusesParametersOfAnotherKind) {
  const Child child = Training();
  EXPECT_THAT(Message(MakeTensorScale()->Prepare(Fault(child)).status()), HasSubstr("asked for tensor.flip"));
  v1::AimedFault fault = Aim("tensor.stuck_lane", child.identity());
  v1::TensorStuckLane& with = *fault.mutable_with()->mutable_tensor_stuck_lane();
  with.set_lane(9), with.set_lanes(16), with.set_tensor("weights");
  EXPECT_THAT(Message(MakeTensorStuckLane()->Prepare(fault).status()), HasSubstr("lane 9 is outside its 8 elements"));
}

TEST_F(Tensor, EndsWithTheTargetAndDoesNotTouchItsSuccessor) {
  Child child = Training();
  const v1::UndoRecord record = Prepared(Fault(child));
  ASSERT_TRUE(injector_->Apply(record).ok());
  ExpectLanded(record);
  child.Kill();
  EXPECT_TRUE(Eventually([&] { return injector_->Inspect(record)->presence == Presence::kAbsent; }));
  EXPECT_TRUE(injector_->Revert(record).ok());
  child.Reap();
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_FALSE(injector_->Apply(record).ok());
}

TEST_F(Tensor, IsWithdrawnFromAStoppedTarget) {
  const Child child = Training();
  const v1::UndoRecord record = Prepared(Fault(child));
  ASSERT_TRUE(injector_->Apply(record).ok());
  ExpectLanded(record);
  // It may be stopped while a rule acts; then it has to go on before the rule is gone, and the undo says so.
  ::kill(child.pid(), SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return child.State() == 'T'; }));
  if (const Status reverted = injector_->Revert(record); !reverted.ok()) {
    EXPECT_THAT(Message(reverted), HasSubstr("is it stopped?"));
    ::kill(child.pid(), SIGCONT);
    EXPECT_TRUE(injector_->Revert(record).ok());
  }
  EXPECT_EQ(Free(child), 8);
}

TEST_F(Tensor, TakesNoNinthRule) {
  const Child child = Training();
  std::vector<v1::UndoRecord> records;
  for (int i = 0; i < 8; ++i) {
    v1::AimedFault fault = Fault(child);
    fault.set_shot(Cat("1.f.", i));
    records.push_back(Prepared(fault));
    ASSERT_TRUE(injector_->Apply(records.back()).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(injector_->Prepare(Fault(child)).status()));
  for (const v1::UndoRecord& record : records) EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(Free(child), 8);
}

TEST_F(Tensor, IsNotAppliedWithoutAMaximum) {
  const Child child = Training();
  v1::UndoRecord record = Prepared(Fault(child));
  record.set_max_hold_ns(0);
  EXPECT_TRUE(absl::IsInvalidArgument(injector_->Apply(record)));
  EXPECT_EQ(Free(child), 8);
}

}  // namespace
}  // namespace triodrill
