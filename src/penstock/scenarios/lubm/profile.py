"""The benchmark's profile: how many there are of what in a department (Guo, Pan, Heflin 2005).

Ranges include both ends. What a range is for is drawn evenly from it.
"""

from __future__ import annotations

DEPARTMENTS = (15, 25)  # of a university
FULL_PROFESSORS = (7, 10)
ASSOCIATE_PROFESSORS = (10, 14)
ASSISTANT_PROFESSORS = (8, 11)
LECTURERS = (5, 7)
RESEARCH_GROUPS = (10, 20)

# Students by member of the faculty; assistants: one in so many graduate students.
UNDERGRADUATES_PER_FACULTY = (8, 14)
GRADUATES_PER_FACULTY = (3, 4)
GRADUATES_PER_TEACHING_ASSISTANT = (4, 5)
GRADUATES_PER_RESEARCH_ASSISTANT = (3, 4)

COURSES_TAUGHT = (1, 2)
GRADUATE_COURSES_TAUGHT = (1, 2)
COURSES_TAKEN = (2, 4)
GRADUATE_COURSES_TAKEN = (1, 3)

FULL_PROFESSOR_PUBLICATIONS = (15, 20)
ASSOCIATE_PROFESSOR_PUBLICATIONS = (10, 18)
ASSISTANT_PROFESSOR_PUBLICATIONS = (5, 10)
LECTURER_PUBLICATIONS = (0, 5)
GRADUATE_PUBLICATIONS = (0, 5)

UNDERGRADUATES_PER_ADVISED = 5  # one in five undergraduates has an advisor
GRADUATES_PER_ADVISED = 1  # every graduate has one

COURSE_POOL = 100  # courses that a department can give, and graduate courses
UNIVERSITY_POOL = 1000  # universities that degrees are from
RESEARCH_POOL = 30

# --- what follows: room that a department can need at most ---

MOST_FACULTY = FULL_PROFESSORS[1] + ASSOCIATE_PROFESSORS[1] + ASSISTANT_PROFESSORS[1] + LECTURERS[1]
MOST_GRADUATES = MOST_FACULTY * GRADUATES_PER_FACULTY[1]
MOST_PUBLICATIONS = (
    FULL_PROFESSORS[1] * FULL_PROFESSOR_PUBLICATIONS[1]
    + ASSOCIATE_PROFESSORS[1] * ASSOCIATE_PROFESSOR_PUBLICATIONS[1]
    + ASSISTANT_PROFESSORS[1] * ASSISTANT_PROFESSOR_PUBLICATIONS[1]
    + LECTURERS[1] * LECTURER_PUBLICATIONS[1]
)
MOST_COAUTHORS = MOST_GRADUATES * GRADUATE_PUBLICATIONS[1]
_PERSON = 5  # triples that every person has: type, name, department, e-mail, telephone
_DEGREE = 2  # the degree, and that the place is a university
MOST_TRIPLES = (
    8  # the university and the department themselves
    + MOST_FACULTY * (_PERSON + COURSES_TAUGHT[1] + GRADUATE_COURSES_TAUGHT[1] + 3 * _DEGREE + 2)
    + MOST_FACULTY * UNDERGRADUATES_PER_FACULTY[1] * (_PERSON + COURSES_TAKEN[1] + 1)
    + MOST_GRADUATES * (_PERSON + GRADUATE_COURSES_TAKEN[1] + _DEGREE + 1)
    + MOST_GRADUATES * 3  # assistants: a type each, and the course
    + MOST_PUBLICATIONS * 3
    + MOST_COAUTHORS
    + RESEARCH_GROUPS[1] * 2
    + MOST_FACULTY * (COURSES_TAUGHT[1] + GRADUATE_COURSES_TAUGHT[1]) * 2
)
