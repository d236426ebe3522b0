"""Both sides of an alignment as earlier versions played them: two intersections, each with keys of its own.

Written with the library's own calls in the order of docs/alignment.md, to be set against the aligners of today.
"""

from private_set_intersection import python as psi

from privee.data.alignment.alignment_messages import AlignmentSession, Kind, pack, same_tag, unpack


def _setup(server, ids):
    return server.CreateSetupMessage(0.0, 1, ids, psi.DataStructure.RAW).SerializeToString()


def _response(server, request):
    return server.ProcessRequest(psi.Request.FromString(request)).SerializeToString()


def _found(client, ids, setup, response):
    rows = client.GetIntersection(psi.ServerSetup.FromString(setup), psi.Response.FromString(response))
    return sorted(ids[row] for row in rows)


class PlainActive:
    def __init__(self, ids):
        self.ids, self.session, self.client = ids, AlignmentSession(), psi.client.CreateWithNewKey(True)

    def request(self):
        message = pack(Kind.REQUEST, self.session.public_key, self.client.CreateRequest(self.ids).SerializeToString())
        self.session.record(message)
        return message

    def agreement(self, answer):
        key, setup, response, request = unpack(Kind.ANSWER, answer, "passive")
        self.session.meet(key, "passive")
        self.session.record(answer)
        self.common = _found(self.client, self.ids, setup, response)
        server = psi.server.CreateWithNewKey(True)
        parts = _setup(server, self.common), _response(server, request)
        self.session.record(*parts)
        return pack(Kind.AGREEMENT, *parts, self.session.tag(b"active", self.common))

    def agrees(self, check):
        return same_tag(unpack(Kind.CHECK, check, "passive")[0], self.session.tag(b"passive", self.common))


class PlainPassive:
    def __init__(self, ids):
        self.ids, self.session, self.client = ids, AlignmentSession(), psi.client.CreateWithNewKey(True)

    def answer(self, message):
        key, request = unpack(Kind.REQUEST, message, "active")
        self.session.meet(key, "active")
        server = psi.server.CreateWithNewKey(True)
        own = self.client.CreateRequest(self.ids).SerializeToString()
        reply = pack(Kind.ANSWER, self.session.public_key, _setup(server, self.ids), _response(server, request), own)
        self.session.record(message)
        self.session.record(reply)
        return reply

    def check(self, message):
        setup, response, tag = unpack(Kind.AGREEMENT, message, "active")
        self.common = _found(self.client, self.ids, setup, response)
        self.session.record(setup, response)
        self.agreed = same_tag(tag, self.session.tag(b"active", self.common))
        return pack(Kind.CHECK, self.session.tag(b"passive", self.common))
