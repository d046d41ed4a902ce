"""Classes and properties of univ-bench, as numbers, and things as one number each.

A thing is its class, its index within its department (a university: its index), and for a
publication also its first author's class and index, packed into an int64.
"""

from __future__ import annotations

from penstock.jit import njit

ONTOLOGY = "http://www.lehigh.edu/~zhp2/2004/0401/univ-bench.owl"
DOCUMENT = "http://swat.cse.lehigh.edu/onto/data.owl"

CLASSES = (
    "University", "Department", "FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer",
    "UndergraduateStudent", "GraduateStudent", "TeachingAssistant", "ResearchAssistant", "Course",
    "GraduateCourse", "Publication", "Research", "ResearchGroup",
)  # fmt: skip
(
    UNIVERSITY, DEPARTMENT, FULL_PROFESSOR, ASSOCIATE_PROFESSOR, ASSISTANT_PROFESSOR, LECTURER,
    UNDERGRADUATE, GRADUATE, TEACHING_ASSISTANT, RESEARCH_ASSISTANT, COURSE,
    GRADUATE_COURSE, PUBLICATION, RESEARCH, RESEARCH_GROUP,
) = range(len(CLASSES))  # fmt: skip

PREDICATES = (
    "type", "name", "teacherOf", "undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom",
    "worksFor", "emailAddress", "telephone", "researchInterest", "headOf", "memberOf", "takesCourse",
    "advisor", "publicationAuthor", "teachingAssistantOf", "subOrganizationOf",
)  # fmt: skip
(
    TYPE, NAME, TEACHER_OF, UNDERGRADUATE_DEGREE, MASTERS_DEGREE, DOCTORAL_DEGREE,
    WORKS_FOR, EMAIL, TELEPHONE, RESEARCH_INTEREST, HEAD_OF, MEMBER_OF, TAKES_COURSE,
    ADVISOR, PUBLICATION_AUTHOR, TEACHING_ASSISTANT_OF, SUB_ORGANIZATION_OF,
) = range(len(PREDICATES))  # fmt: skip

_INDEX_BITS, _CLASS_BITS = 31, 5
_THING_BITS = _CLASS_BITS + _INDEX_BITS
_INDEX_MASK, _CLASS_MASK = (1 << _INDEX_BITS) - 1, (1 << _CLASS_BITS) - 1
_AUTHOR_INDEX_BITS = 8  # a department has no more than that many members of one rank
_AUTHOR_INDEX_MASK = (1 << _AUTHOR_INDEX_BITS) - 1


@njit()
def thing(class_, index):
    return (class_ << _INDEX_BITS) | index


@njit()
def publication_of(author, index):
    packed = (class_of(author) << _AUTHOR_INDEX_BITS) | index_of(author)
    return (packed << _THING_BITS) | thing(PUBLICATION, index)


@njit()
def class_of(one):
    return (one >> _INDEX_BITS) & _CLASS_MASK


@njit()
def index_of(one):
    return one & _INDEX_MASK


@njit()
def author_of(publication):
    packed = publication >> _THING_BITS
    return thing(packed >> _AUTHOR_INDEX_BITS, packed & _AUTHOR_INDEX_MASK)
