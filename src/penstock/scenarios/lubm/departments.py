"""What a department consists of: draws it and makes its triples, as three columns of numbers.

Every number that is drawn is drawn in the order of the benchmark's own generator, also where
nothing depends on it, because all data after it do.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import njit
from penstock.scenarios.lubm import profile
from penstock.scenarios.lubm import vocabulary as ub
from penstock.scenarios.lubm.chance import below, sample, set_seed, within

_SEED_STEP = -(1 << 31)  # seeds of neighbours are so far apart; negative, as an overflow once made it
_RANKS = (
    profile.FULL_PROFESSORS,
    profile.ASSOCIATE_PROFESSORS,
    profile.ASSISTANT_PROFESSORS,
    profile.LECTURERS,
)
_PUBLICATIONS = (
    profile.FULL_PROFESSOR_PUBLICATIONS,
    profile.ASSOCIATE_PROFESSOR_PUBLICATIONS,
    profile.ASSISTANT_PROFESSOR_PUBLICATIONS,
    profile.LECTURER_PUBLICATIONS,
)


@njit()
def begin_university(state, seed, index):
    """Sets the random numbers for a university; how many departments it has."""
    set_seed(state, seed * _SEED_STEP + index)
    return within(state, profile.DEPARTMENTS)


# --- triples ---


@njit()
def _add(rows, count, subject, predicate, object_):
    rows[0, count] = subject
    rows[1, count] = predicate
    rows[2, count] = object_
    return count + 1


@njit()
def _add_university(rows, count, seen, mark, index):
    """That a university is one, unless that has been said. Those beyond the pool share a place in `seen`."""
    place = min(index, profile.UNIVERSITY_POOL)
    if seen[place] != mark:
        seen[place] = mark
        count = _add(rows, count, ub.thing(ub.UNIVERSITY, index), ub.TYPE, ub.UNIVERSITY)
    return count


@njit()
def _add_degree(state, rows, count, seen, mark, person, degree):
    place = below(state, profile.UNIVERSITY_POOL)
    count = _add_university(rows, count, seen, mark, place)
    return _add(rows, count, person, degree, ub.thing(ub.UNIVERSITY, place))


@njit()
def _add_contact(rows, count, person):
    count = _add(rows, count, person, ub.EMAIL, person)
    return _add(rows, count, person, ub.TELEPHONE, person)


@njit()
def _add_student(rows, count, person, here):
    count = _add(rows, count, person, ub.TYPE, ub.class_of(person))
    count = _add(rows, count, person, ub.NAME, person)
    count = _add(rows, count, person, ub.MEMBER_OF, here)
    return _add_contact(rows, count, person)


@njit()
def _add_courses_taken(state, rows, count, person, class_, taken, given):
    chosen, in_order = np.empty(taken, np.int64), np.empty(taken, np.int64)
    sample(state, taken, given, chosen, in_order)
    for course in chosen:
        count = _add(rows, count, person, ub.TAKES_COURSE, ub.thing(class_, course))
    return count


@njit()
def _add_advisor(state, rows, count, person, ranks, one_in):
    if below(state, one_in) == 0:
        rank = below(state, 3)
        advisor = ub.thing(ub.FULL_PROFESSOR + rank, below(state, ranks[rank]))
        count = _add(rows, count, person, ub.ADVISOR, advisor)
    return count


# --- a department, part by part ---


@njit()
def department(state, university, number, seen, mark, rows):
    """The triples of the next department of a university into `rows`; how many there are.

    That a university is one is said if `seen` does not have the mark for it, which it then gets.
    """
    ranks = np.empty(len(_RANKS), np.int64)
    for rank in range(len(_RANKS)):
        ranks[rank] = within(state, _RANKS[rank])
    faculty = ranks.sum()
    low, high = profile.UNDERGRADUATES_PER_FACULTY
    undergraduates = within(state, (low * faculty, high * faculty))
    low, high = profile.GRADUATES_PER_FACULTY
    graduates = within(state, (low * faculty, high * faculty))
    low, high = profile.GRADUATES_PER_TEACHING_ASSISTANT
    teaching = within(state, (graduates // high, graduates // low))
    low, high = profile.GRADUATES_PER_RESEARCH_ASSISTANT
    researching = within(state, (graduates // high, graduates // low))
    groups = within(state, profile.RESEARCH_GROUPS)
    chair = below(state, ranks[0])

    count = 0
    above, here = ub.thing(ub.UNIVERSITY, university), ub.thing(ub.DEPARTMENT, number)
    if number == 0:
        seen[profile.UNIVERSITY_POOL] = 0
        count = _add_university(rows, count, seen, mark, university)
        count = _add(rows, count, above, ub.NAME, above)
    count = _add(rows, count, here, ub.TYPE, ub.DEPARTMENT)
    count = _add(rows, count, here, ub.NAME, here)
    count = _add_university(rows, count, seen, mark, university)
    count = _add(rows, count, here, ub.SUB_ORGANIZATION_OF, above)

    publications = np.empty(profile.MOST_PUBLICATIONS, np.int64)  # in the order of their first authors
    count, published, courses, graduate_courses = _faculty(
        state, rows, count, seen, mark, here, ranks, chair, publications
    )
    for index in range(undergraduates):
        person = ub.thing(ub.UNDERGRADUATE, index)
        count = _add_student(rows, count, person, here)
        taken = within(state, profile.COURSES_TAKEN)
        count = _add_courses_taken(state, rows, count, person, ub.COURSE, taken, courses)
        count = _add_advisor(state, rows, count, person, ranks, profile.UNDERGRADUATES_PER_ADVISED)
    joined = np.empty((2, profile.MOST_COAUTHORS), np.int64)  # publication, student
    count, joins = _graduates(
        state, rows, count, seen, mark, here, ranks, graduates, graduate_courses, published, joined
    )
    for index in range(groups):
        count = _add(rows, count, ub.thing(ub.RESEARCH_GROUP, index), ub.TYPE, ub.RESEARCH_GROUP)
        count = _add(rows, count, ub.thing(ub.RESEARCH_GROUP, index), ub.SUB_ORGANIZATION_OF, here)
    count = _publications(rows, count, publications[:published], joined[:, :joins])
    for class_, size in ((ub.COURSE, courses), (ub.GRADUATE_COURSE, graduate_courses)):
        for index in range(size):
            count = _add(rows, count, ub.thing(class_, index), ub.TYPE, class_)
            count = _add(rows, count, ub.thing(class_, index), ub.NAME, ub.thing(class_, index))
    return _assistants(state, rows, count, graduates, teaching, researching, courses)


@njit()
def _faculty(state, rows, count, seen, mark, here, ranks, chair, publications):
    """All teachers; how many triples, publications, courses and graduate courses there are then."""
    published = courses = graduate_courses = 0
    for rank in range(len(_RANKS)):
        class_ = ub.FULL_PROFESSOR + rank
        for index in range(ranks[rank]):
            person = ub.thing(class_, index)
            count = _add(rows, count, person, ub.TYPE, class_)
            count = _add(rows, count, person, ub.NAME, person)
            for _ in range(within(state, profile.COURSES_TAUGHT)):
                below(state, profile.COURSE_POOL - courses)  # drawn, and not used: they come in sequence
                count = _add(rows, count, person, ub.TEACHER_OF, ub.thing(ub.COURSE, courses))
                courses += 1
            for _ in range(within(state, profile.GRADUATE_COURSES_TAUGHT)):
                below(state, profile.COURSE_POOL - graduate_courses)
                count = _add(
                    rows, count, person, ub.TEACHER_OF, ub.thing(ub.GRADUATE_COURSE, graduate_courses)
                )
                graduate_courses += 1
            for degree in (ub.UNDERGRADUATE_DEGREE, ub.MASTERS_DEGREE, ub.DOCTORAL_DEGREE):
                count = _add_degree(state, rows, count, seen, mark, person, degree)
            count = _add(rows, count, person, ub.WORKS_FOR, here)
            count = _add_contact(rows, count, person)
            if class_ != ub.LECTURER:
                interest = ub.thing(ub.RESEARCH, below(state, profile.RESEARCH_POOL))
                count = _add(rows, count, person, ub.RESEARCH_INTEREST, interest)
            if class_ == ub.FULL_PROFESSOR and index == chair:
                count = _add(rows, count, person, ub.HEAD_OF, here)
            for written in range(within(state, _PUBLICATIONS[rank])):
                publications[published] = ub.publication_of(person, written)
                published += 1
    return count, published, courses, graduate_courses


@njit()
def _graduates(state, rows, count, seen, mark, here, ranks, graduates, courses, published, joined):
    """All graduate students; which publications they join stands in `joined`, and how many at the end."""
    most = profile.GRADUATE_PUBLICATIONS[1]
    chosen, in_order = np.empty(most, np.int64), np.empty(most, np.int64)
    joins = 0
    for index in range(graduates):
        person = ub.thing(ub.GRADUATE, index)
        count = _add_student(rows, count, person, here)
        taken = within(state, profile.GRADUATE_COURSES_TAKEN)
        count = _add_courses_taken(state, rows, count, person, ub.GRADUATE_COURSE, taken, courses)
        count = _add_degree(state, rows, count, seen, mark, person, ub.UNDERGRADUATE_DEGREE)
        count = _add_advisor(state, rows, count, person, ranks, profile.GRADUATES_PER_ADVISED)
        written = within(state, profile.GRADUATE_PUBLICATIONS)
        sample(state, written, published, chosen, in_order)
        for publication in chosen[:written]:
            joined[0, joins], joined[1, joins] = publication, person
            joins += 1
    return count, joins


@njit()
def _publications(rows, count, publications, joined):
    """Publications with their authors: first who wrote them, then the students in their order."""
    order = np.argsort(joined[0], kind="mergesort")
    at = 0
    for number, publication in enumerate(publications):
        count = _add(rows, count, publication, ub.TYPE, ub.PUBLICATION)
        count = _add(rows, count, publication, ub.NAME, publication)
        count = _add(rows, count, publication, ub.PUBLICATION_AUTHOR, ub.author_of(publication))
        while at < len(order) and joined[0, order[at]] == number:
            count = _add(rows, count, publication, ub.PUBLICATION_AUTHOR, joined[1, order[at]])
            at += 1
    return count


@njit()
def _assistants(state, rows, count, graduates, teaching, researching, courses):
    """Which of the graduate students assist: some in courses, others in research."""
    both = teaching + researching
    students, in_order = np.empty(both, np.int64), np.empty(both, np.int64)
    assisted = np.empty(teaching, np.int64)
    sample(state, both, graduates, students, in_order)
    sample(state, teaching, courses, assisted, in_order)
    for number in range(both):
        person = ub.thing(ub.GRADUATE, students[number])
        if number < teaching:
            count = _add(rows, count, person, ub.TYPE, ub.TEACHING_ASSISTANT)
            count = _add(rows, count, person, ub.TEACHING_ASSISTANT_OF, ub.thing(ub.COURSE, assisted[number]))
        else:
            count = _add(rows, count, person, ub.TYPE, ub.RESEARCH_ASSISTANT)
    return count
