// The fault catalogue, read off the schema: one row for each message in v1::Parameters. Who performs a fault stands in
// injectors/catalog.h. Built once, never changed, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "triodrill/v1/faults.pb.h"
#include "triodrill/v1/options.pb.h"

namespace triodrill {

struct FaultRow {
  std::string kind;  // "process.kill"
  v1::FaultFacts facts;
  const google::protobuf::Descriptor* parameters = nullptr;  // the message of its parameters
  const google::protobuf::FieldDescriptor* field = nullptr;  // its member of v1::Parameters
};

// In the order of the schema.
const std::vector<FaultRow>& FaultCatalogue();

// nullptr if there is no such kind.
const FaultRow* FindFaultRow(std::string_view kind);

// The kind whose parameters these are; empty if none are set.
std::string_view KindOf(const v1::Parameters& parameters);

// Makes `parameters` the empty parameters of `kind`; false if there is no such kind.
bool SelectParameters(std::string_view kind, v1::Parameters& parameters);

// The message that is set, to be read by reflection; nullptr if none is.
const google::protobuf::Message* SelectedParameters(const v1::Parameters& parameters);

// The known kind that is spelt most alike; empty if none is near.
std::string_view NearestKind(std::string_view kind);

}  // namespace triodrill
