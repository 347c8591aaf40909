# Holds JSON documents to a JSON Schema, and the schema to its own. The first argument is the schema's file.
# 0: all are valid; 1: not; 77: there is no such library.
import json
import sys

try:
    import jsonschema
except ImportError as error:
    print(f"no python3-jsonschema: {error}")
    sys.exit(77)

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
validator = jsonschema.Draft202012Validator
validator.check_schema(schema)
bad = 0
for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    for error in validator(schema).iter_errors(document):
        bad += 1
        print(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
sys.exit(1 if bad else 0)
