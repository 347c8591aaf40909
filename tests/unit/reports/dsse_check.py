# Checks a DSSE envelope (file, public key) with Python's cryptography, from the specification alone.
# 0: good, its payload type and _type are printed; 1: not good; 77: there is no such library.
import base64
import json
import sys

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
except ImportError as error:
    print(f"no python3-cryptography: {error}")
    sys.exit(77)

with open(sys.argv[1], encoding="utf-8") as file:
    envelope = json.load(file)
with open(sys.argv[2], "rb") as file:
    key = load_pem_public_key(file.read())

try:
    payload = base64.b64decode(envelope["payload"], validate=True)
    kind = envelope["payloadType"].encode()
    signed = b" ".join([b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload])
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"], validate=True), signed)
except (InvalidSignature, ValueError) as error:
    print(f"refused: {error!r}")
    sys.exit(1)
statement = json.loads(payload)
print(kind.decode(), statement["_type"], len(statement["subject"]), "subjects")
