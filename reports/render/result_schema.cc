#include "reports/render/result_schema.h"

#include <algorithm>

#include "triodrill/text.h"

namespace triodrill {
namespace {

// Members are always there unless they are left out of `required`; a value that does not exist is null.
constexpr std::string_view kDefinitions = R"json({
    "names": {"type": "array", "items": {"type": "string"}},
    "count": {"type": "integer", "minimum": 0},
    "share": {"type": "number", "minimum": 0},
    "answer": {"enum": ["PASS", "INCONCLUSIVE", "FAIL"]},
    "outcome": {"enum": ["finished", "aborted", "refused", "broken", "incomplete"]},
    "naming": {"enum": ["faulted", "unattributed", "neighbour"]},
    "domain": {"enum": ["none", "process", "gpu", "node", "segment", "group", "job", "partition"]},
    "covered": {"enum": ["seen", "not_seen", "not_applicable"]},
    "span": {
      "type": "object", "required": ["min_s", "max_s"], "additionalProperties": false,
      "properties": {"min_s": {"type": "number"}, "max_s": {"type": "number"}}
    },
    "instant": {
      "type": "object", "required": ["earliest_ns", "latest_ns"], "additionalProperties": false,
      "properties": {"earliest_ns": {"type": "integer"}, "latest_ns": {"type": "integer"}}
    },
    "report": {
      "type": "object", "required": ["min_s", "max_s", "named", "names", "signal", "source", "raw"],
      "additionalProperties": false,
      "properties": {
        "min_s": {"type": "number"}, "max_s": {"type": "number"}, "named": {"$ref": "#/$defs/naming"},
        "names": {"type": "string"}, "signal": {"type": "string"}, "source": {"type": "string"},
        "raw": {"type": "string"}, "claimed_time": {"type": "string"}
      }
    },
    "reports": {"type": "array", "items": {"$ref": "#/$defs/report"}},
    "delay": {
      "type": "object", "required": ["censored"], "additionalProperties": false,
      "properties": {
        "censored": {"type": "boolean"}, "min_s": {"type": "number"}, "max_s": {"type": "number"},
        "censored_at_s": {"type": "number"}, "why": {"type": "string"}, "source": {"type": "string"},
        "signal": {"type": "string"}, "named": {"$ref": "#/$defs/naming"}, "names": {"type": "string"},
        "not_interrupted": {"type": "boolean"}, "after_withdrawal_s": {"$ref": "#/$defs/span"}
      },
      "if": {"properties": {"censored": {"const": true}}},
      "then": {"required": ["censored_at_s", "why"], "not": {"required": ["min_s"]}},
      "else": {"required": ["min_s", "max_s"], "not": {"required": ["censored_at_s"]}}
    },
    "target": {
      "type": "object", "required": ["shot", "kind", "level", "node", "slot", "landed", "evidence"],
      "additionalProperties": false,
      "properties": {
        "shot": {"type": "string"}, "kind": {"type": "string"}, "level": {"enum": ["mechanism", "signal", "unknown"]},
        "node": {"type": "string"}, "slot": {"type": "string"}, "landed": {"$ref": "#/$defs/instant"},
        "evidence": {"type": "string"}
      }
    },
    "undo": {
      "type": "object", "required": ["shot", "node", "problem", "by_hand"], "additionalProperties": false,
      "properties": {
        "shot": {"type": "string"}, "node": {"type": "string"}, "problem": {"type": "string"},
        "by_hand": {"type": "string"}
      }
    },
    "isolation": {
      "type": "object",
      "required": ["basis", "level", "precision", "recall", "faulted", "evicted", "collateral", "missed"],
      "additionalProperties": false,
      "properties": {
        "basis": {"enum": ["outcome", "reported", "unknown"]},
        "level": {"anyOf": [{"$ref": "#/$defs/domain"}, {"type": "null"}]},
        "precision": {"type": ["number", "null"]}, "recall": {"type": ["number", "null"]},
        "faulted": {"$ref": "#/$defs/names"}, "evicted": {"$ref": "#/$defs/names"},
        "collateral": {"$ref": "#/$defs/names"}, "missed": {"$ref": "#/$defs/names"}
      }
    },
    "interruption": {
      "type": "object", "required": ["level", "interrupted", "share", "restarted", "restart_level"],
      "additionalProperties": false,
      "properties": {
        "level": {"$ref": "#/$defs/domain"}, "interrupted": {"$ref": "#/$defs/names"},
        "share": {"$ref": "#/$defs/share"}, "restarted": {"$ref": "#/$defs/names"},
        "restart_level": {"$ref": "#/$defs/domain"}
      }
    },
    "milestone": {"anyOf": [{"$ref": "#/$defs/span"}, {"type": "null"}]},
    "milestones": {
      "type": "object", "additionalProperties": false,
      "required": ["detected", "diagnosed", "isolated", "replaced", "restored", "resumed", "caught_up", "steady"],
      "properties": {
        "detected": {"$ref": "#/$defs/milestone"}, "diagnosed": {"$ref": "#/$defs/milestone"},
        "isolated": {"$ref": "#/$defs/milestone"}, "replaced": {"$ref": "#/$defs/milestone"},
        "restored": {"$ref": "#/$defs/milestone"}, "resumed": {"$ref": "#/$defs/milestone"},
        "caught_up": {"$ref": "#/$defs/milestone"}, "steady": {"$ref": "#/$defs/milestone"}
      }
    },
    "coverage": {
      "type": ["object", "null"], "additionalProperties": false,
      "required": ["detect", "self_check", "isolate", "replace", "recover"],
      "properties": {
        "detect": {"$ref": "#/$defs/covered"}, "self_check": {"$ref": "#/$defs/covered"},
        "isolate": {"$ref": "#/$defs/covered"}, "replace": {"$ref": "#/$defs/covered"},
        "recover": {"$ref": "#/$defs/covered"}
      }
    },
)json"
                                          R"json(    "trial": {
      "type": "object", "additionalProperties": false,
      "required": ["trial", "sham", "valid", "problems", "landed", "withdrawn", "observed", "targets",
                   "baseline_steps_per_s", "serving", "undo", "open_undos"],
      "properties": {
        "trial": {"type": "integer", "minimum": 1}, "sham": {"type": "boolean"}, "valid": {"type": "boolean"},
        "problems": {"$ref": "#/$defs/names"},
        "landed": {"anyOf": [{"$ref": "#/$defs/instant"}, {"type": "null"}]},
        "withdrawn": {"anyOf": [{"$ref": "#/$defs/instant"}, {"type": "null"}]},
        "observed": {"anyOf": [{"$ref": "#/$defs/span"}, {"type": "null"}]},
        "targets": {"type": "array", "items": {"$ref": "#/$defs/target"}},
        "baseline_steps_per_s": {"type": "number"}, "serving": {"$ref": "#/$defs/names"},
        "false_alarms": {"$ref": "#/$defs/reports"},
        "detection_latency": {"anyOf": [{"$ref": "#/$defs/delay"}, {"type": "null"}]},
        "reports": {"$ref": "#/$defs/count"},
        "first_report": {"anyOf": [{"$ref": "#/$defs/report"}, {"type": "null"}]},
        "misattributed": {"$ref": "#/$defs/reports"}, "uncredited": {"$ref": "#/$defs/reports"},
        "first_symptom": {"anyOf": [{"$ref": "#/$defs/report"}, {"type": "null"}]},
        "symptoms": {"$ref": "#/$defs/count"},
        "isolation": {"anyOf": [{"$ref": "#/$defs/isolation"}, {"type": "null"}]},
        "interruption": {"anyOf": [{"$ref": "#/$defs/interruption"}, {"type": "null"}]},
        "recovery_time": {"anyOf": [{"$ref": "#/$defs/delay"}, {"type": "null"}]},
        "milestones": {"$ref": "#/$defs/milestones"},
        "high_water_step": {"type": ["integer", "null"]}, "restored_step": {"type": ["integer", "null"]},
        "steps_lost": {"type": ["integer", "null"]}, "effective_time_ratio": {"type": ["number", "null"]},
        "capacity": {"type": ["number", "null"]}, "serving_after": {"$ref": "#/$defs/names"},
        "state_check": {"enum": ["equal", "different", "not_seen", "no_reference", "not_applicable"]},
        "states_compared": {"$ref": "#/$defs/count"}, "state_first_different": {"type": "string"},
        "masked": {"type": "boolean"}, "coverage": {"$ref": "#/$defs/coverage"},
        "undo": {"enum": ["confirmed", "not_confirmed", "nothing_to_undo"]},
        "open_undos": {"type": "array", "items": {"$ref": "#/$defs/undo"}}
      },
      "if": {"properties": {"sham": {"const": true}}},
      "then": {"required": ["false_alarms"]},
      "else": {
        "required": ["detection_latency", "reports", "first_report", "misattributed", "uncredited", "first_symptom",
                     "symptoms", "isolation", "interruption", "recovery_time", "milestones", "high_water_step",
                     "restored_step", "steps_lost", "effective_time_ratio", "capacity", "serving_after", "state_check",
                     "states_compared", "state_first_different", "masked", "coverage"]
      }
    },
    "summary": {
      "type": "object", "additionalProperties": false,
      "required": ["n", "censored", "p50_s", "p90_s", "median_between_s", "min_s", "max_s"],
      "properties": {
        "n": {"$ref": "#/$defs/count"}, "censored": {"$ref": "#/$defs/count"},
        "p50_s": {"$ref": "#/$defs/milestone"}, "p90_s": {"$ref": "#/$defs/milestone"},
        "median_between_s": {
          "type": ["object", "null"], "required": ["min_s", "max_s", "confidence"], "additionalProperties": false,
          "properties": {
            "min_s": {"type": "number"}, "max_s": {"type": "number"}, "confidence": {"type": "number"}
          }
        },
        "min_s": {"type": ["number", "null"]}, "max_s": {"type": ["number", "null"]}
      }
    },
    "run": {
      "type": "object", "additionalProperties": false,
      "required": ["run_id", "tool_version", "plan_digest", "started", "operator", "host", "kernel", "outcome",
                   "problem", "refusals", "window", "clocks"],
      "properties": {
        "run_id": {"type": "string"}, "tool_version": {"type": "string"}, "plan_digest": {"type": "string"},
        "started": {"type": "string"}, "operator": {"type": "string"}, "host": {"type": "string"},
        "kernel": {"type": "string"}, "outcome": {"$ref": "#/$defs/outcome"}, "problem": {"type": "string"},
        "refusals": {"$ref": "#/$defs/names"}, "window": {"$ref": "#/$defs/instant"},
        "clocks": {"type": "array", "items": {
          "type": "object", "required": ["node", "offset_width_s", "min_round_trip_s"], "additionalProperties": false,
          "properties": {
            "node": {"type": "string"}, "offset_width_s": {"type": "number"}, "min_round_trip_s": {"type": "number"}
          }
        }},
        "monitoring": {
          "type": "object", "required": ["parts", "changes", "gaps", "problem"], "additionalProperties": false,
          "properties": {
            "parts": {"$ref": "#/$defs/count"}, "changes": {"$ref": "#/$defs/names"},
            "gaps": {"$ref": "#/$defs/names"}, "problem": {"type": "string"}
          }
        }
      }
    },
    "trio": {
      "type": "object", "additionalProperties": false,
      "required": ["schema", "drill", "simulated", "run", "planned", "trials", "summary", "stray_undos"],
      "properties": {
        "schema": {"const": "triodrill/trio/v1"}, "drill": {"type": "string"}, "simulated": {"$ref": "#/$defs/names"},
        "run": {"$ref": "#/$defs/run"},
        "planned": {
          "type": "object", "required": ["faulted", "sham"], "additionalProperties": false,
          "properties": {"faulted": {"$ref": "#/$defs/count"}, "sham": {"$ref": "#/$defs/count"}}
        },
        "trials": {"type": "array", "items": {"$ref": "#/$defs/trial"}},
        "summary": {
          "type": "object", "required": ["detection_latency", "recovery_time", "false_alarms"],
          "additionalProperties": false,
          "properties": {
            "detection_latency": {"$ref": "#/$defs/summary"}, "recovery_time": {"$ref": "#/$defs/summary"},
            "false_alarms": {
              "type": "object", "required": ["sham_trials", "alarms"], "additionalProperties": false,
              "properties": {"sham_trials": {"$ref": "#/$defs/count"}, "alarms": {"$ref": "#/$defs/count"}}
            }
          }
        },
        "stray_undos": {"type": "array", "items": {"$ref": "#/$defs/undo"}}
      }
    },
)json"
                                          R"json(    "objective": {
      "type": "object", "additionalProperties": false,
      "required": ["name", "expected", "answer", "reason", "n", "passed", "assurance", "trials"],
      "properties": {
        "name": {"type": "string"}, "expected": {"type": "string"}, "answer": {"$ref": "#/$defs/answer"},
        "reason": {"type": "string"}, "n": {"$ref": "#/$defs/count"}, "passed": {"$ref": "#/$defs/count"},
        "assurance": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "trials": {"type": "array", "items": {
          "type": "object", "required": ["trial", "answer", "reason"], "additionalProperties": false,
          "properties": {
            "trial": {"type": "integer", "minimum": 1}, "answer": {"$ref": "#/$defs/answer"},
            "reason": {"type": "string"}
          }
        }}
      }
    },
    "verdict": {
      "type": "object", "additionalProperties": false,
      "required": ["schema", "drill", "verdict", "outcome", "undo_confirmed", "exit_code", "headline", "blockers",
                   "objectives"],
      "properties": {
        "schema": {"const": "triodrill/verdict/v1"}, "drill": {"type": "string"},
        "verdict": {"$ref": "#/$defs/answer"}, "outcome": {"$ref": "#/$defs/outcome"},
        "undo_confirmed": {"type": "boolean"}, "exit_code": {"enum": [0, 1, 2, 3, 4, 5]},
        "headline": {"type": "string"}, "blockers": {"$ref": "#/$defs/names"},
        "objectives": {"type": "array", "items": {"$ref": "#/$defs/objective"}}
      }
    },
    "whole_run": {
      "type": "object", "additionalProperties": false,
      "required": ["schema", "drill", "exit_code", "bundle", "verdict", "trio"],
      "properties": {
        "schema": {"const": "triodrill/run/v1"}, "drill": {"type": "string"},
        "exit_code": {"enum": [0, 1, 2, 3, 4, 5]}, "bundle": {"type": "string"},
        "verdict": {"$ref": "#/$defs/verdict"}, "trio": {"$ref": "#/$defs/trio"}
      }
    }
  })json";

std::string_view DefinitionOf(std::string_view kind) {
  if (kind == "Run") return "whole_run";
  return kind == "Trio" ? "trio" : "verdict";
}

}  // namespace

std::string ResultSchema(std::string_view kind) {
  if (std::find(kResultKinds.begin(), kResultKinds.end(), kind) == kResultKinds.end()) return "";
  return Cat("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"$id\": \"urn:triodrill:", kind,
             ":v1\",\n  \"title\": \"", kind, " of triodrill\",\n  \"$ref\": \"#/$defs/", DefinitionOf(kind),
             "\",\n  \"$defs\": ", kDefinitions, "\n}\n");
}

}  // namespace triodrill
