"""Gymnasium's LunarLander with a lean step, and moments that can be kept and restored.

The game is gymnasium's own, to the bit: same seed and actions, same observations,
rewards and ends. Rules that keep it so:

- `step` draws the same two random numbers and does the same arithmetic in the same
  order; it leaves out checks, wind and the decoration.
- A restored game is built in a world of its own, its bodies, fixtures and joints in
  the order in which gymnasium builds them.

A restored game does not continue the original one to the bit: the impulses that
Box2D remembers in its joints cannot be set. Two restored games with the same state,
seed and actions are equal to the bit.
"""

import math
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from casestudies.lunar.box2d import Box2D
from casestudies.lunar.box2d import lunar_lander as original
from casestudies.lunar.state import (
    CORNER_X,
    HEIGHT,
    PAD,
    RAW_HEIGHTS,
    WIDTH,
    Body,
    LanderState,
    corner_heights,
)

Observation = NDArray[np.float32]

SCALE = original.SCALE
STEP_SECONDS = 1.0 / original.FPS
X_UNIT = original.VIEWPORT_W / SCALE / 2
Y_UNIT = original.VIEWPORT_H / SCALE / 2
LEG_HEIGHT = original.LEG_DOWN / SCALE
MAIN_ENGINE_BELOW = original.MAIN_ENGINE_Y_LOCATION / SCALE

# Box2D copies a fixture's definition and shape, so that one serves every world.
LANDER_FIXTURE = Box2D.b2FixtureDef(
    shape=Box2D.b2PolygonShape(
        vertices=[(x / SCALE, y / SCALE) for x, y in original.LANDER_POLY]
    ),
    density=5.0,
    friction=0.1,
    categoryBits=0x0010,
    maskBits=0x001,
    restitution=0.0,
)
LEG_FIXTURE = Box2D.b2FixtureDef(
    shape=Box2D.b2PolygonShape(box=(original.LEG_W / SCALE, original.LEG_H / SCALE)),
    density=1.0,
    restitution=0.0,
    categoryBits=0x0020,
    maskBits=0x001,
)
LEG_ANGLES = {-1: (0.9 - 0.5, 0.9), 1: (-0.9, -0.9 + 0.5)}


class Lander(original.LunarLander):
    """One game of LunarLander whose moments can be taken and restored."""

    def __init__(self, *, render_mode: str | None = None) -> None:
        super().__init__(render_mode=render_mode)
        self.heights: tuple[float, ...] = ()
        self._just_restored = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a game as gymnasium does, and keep the terrain it draws."""
        if seed is not None:
            gymnasium.Env.reset(self, seed=seed)
        # Gymnasium forgets the raw heights, its first draw: draw them a second time.
        again = np.random.Generator(np.random.PCG64())
        again.bit_generator.state = self.np_random.bit_generator.state
        heights = again.uniform(0, HEIGHT / 2, size=RAW_HEIGHTS)
        heights[PAD] = HEIGHT / 4
        self.heights = tuple(heights.tolist())
        self._just_restored = False
        return super().reset()

    def step(
        self, action: int
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play one action: 0 nothing, 1 left engine, 2 main engine, 3 right engine."""
        legs = self.legs
        if self._just_restored:
            # A leg that touches says so during this step; one that no longer does
            # could not, since the new world never saw it touch.
            legs[0].ground_contact = legs[1].ground_contact = False
            self._just_restored = False
        draw = self.np_random.random
        first = (2.0 * draw() - 1.0) / SCALE
        second = (2.0 * draw() - 1.0) / SCALE
        if action:
            self._fire(action, first, second)
        self.world.Step(STEP_SECONDS, 180, 60)

        values = self._observe()
        shaping = _shaping(values)
        reward = 0.0 if self.prev_shaping is None else shaping - self.prev_shaping
        self.prev_shaping = shaping
        if action:
            reward -= 0.30 if action == 2 else 0.03
        terminated = False
        if self.game_over or abs(values[0]) >= 1.0:
            terminated = True
            reward = -100.0
        if not self.lander.awake:
            terminated = True
            reward = 100.0
        return np.array(values, dtype=np.float32), reward, terminated, False, {}

    def snapshot(self) -> LanderState:
        """Take the present moment of the game."""
        left, right = self.legs
        return LanderState(
            lander=_read_body(self.lander),
            legs=(_read_body(left), _read_body(right)),
            contacts=(left.ground_contact, right.ground_contact),
            heights=self.heights,
        )

    def restore(self, state: LanderState, *, seed: int) -> Observation:
        """Put the game into a state; the seed fixes what the engines' noise will be."""
        gymnasium.Env.reset(self, seed=seed)
        self._destroy()
        self._build_world(state)
        self.game_over = False
        self._just_restored = True
        values = self._observe()
        self.prev_shaping = _shaping(values)
        return np.array(values, dtype=np.float32)

    def _fire(self, action: int, first: float, second: float) -> None:
        lander = self.lander
        angle = lander.angle
        sin, cos = math.sin(angle), math.cos(angle)
        position = lander.position
        if action == 2:
            below = MAIN_ENGINE_BELOW + 2 * first
            ox = sin * below + -cos * second
            oy = -cos * below - sin * second
            at = (position.x + ox, position.y + oy)
            power = original.MAIN_ENGINE_POWER
        else:
            aside = 3 * second + (action - 2) * original.SIDE_ENGINE_AWAY / SCALE
            ox = sin * first + -cos * aside
            oy = -cos * first - sin * aside
            at = (
                position.x + ox - sin * 17 / SCALE,
                position.y + oy + cos * original.SIDE_ENGINE_HEIGHT / SCALE,
            )
            power = original.SIDE_ENGINE_POWER
        lander.ApplyLinearImpulse((-ox * power, -oy * power), at, True)

    def _observe(self) -> list[float]:
        lander = self.lander
        position = lander.position
        velocity = lander.linearVelocity
        left, right = self.legs
        return [
            (position.x - X_UNIT) / X_UNIT,
            (position.y - (self.helipad_y + LEG_HEIGHT)) / Y_UNIT,
            velocity.x * X_UNIT / original.FPS,
            velocity.y * Y_UNIT / original.FPS,
            lander.angle,
            20.0 * lander.angularVelocity / original.FPS,
            1.0 if left.ground_contact else 0.0,
            1.0 if right.ground_contact else 0.0,
        ]

    def _build_world(self, state: LanderState) -> None:
        self.world = Box2D.b2World(gravity=(0, self.gravity))
        self.world.contactListener_keepref = original.ContactDetector(self)
        self.world.contactListener = self.world.contactListener_keepref
        self._build_ground(state)
        self.lander = self.world.CreateDynamicBody(
            position=(state.lander.x, state.lander.y),
            angle=state.lander.angle,
            fixtures=LANDER_FIXTURE,
        )
        self.legs = []
        for side, body in zip((-1, 1), state.legs, strict=True):
            self._build_leg(side, body)
        for leg, touches in zip(self.legs, state.contacts, strict=True):
            leg.ground_contact = touches
        # A body's velocity belongs to its centre of mass, which its fixture moves:
        # set it once the body is whole.
        for body, was in zip(
            (self.lander, *self.legs), (state.lander, *state.legs), strict=True
        ):
            body.linearVelocity = (was.vx, was.vy)
            body.angularVelocity = was.spin
        self.drawlist = [self.lander, *self.legs]
        for body in self.drawlist:
            body.color1 = (128, 102, 230)
            body.color2 = (77, 77, 128)

    def _build_ground(self, state: LanderState) -> None:
        self.heights = state.heights
        corners = list(zip(CORNER_X, corner_heights(state.heights), strict=True))
        pieces = list(pairwise(corners))
        self.helipad_x1 = CORNER_X[4]
        self.helipad_x2 = CORNER_X[6]
        self.helipad_y = state.pad
        floor = Box2D.b2EdgeShape(vertices=[(0, 0), (WIDTH, 0)])
        self.moon = self.world.CreateStaticBody(shapes=floor)
        # `CreateEdgeFixture` would lose 68 bytes of memory for each piece.
        edge = Box2D.b2FixtureDef(shape=floor, density=0, friction=0.1)
        for piece in pieces:
            edge.shape.vertices = piece
            self.moon.CreateFixture(edge)
        self.sky_polys = [
            [left, right, (right[0], HEIGHT), (left[0], HEIGHT)]
            for left, right in pieces
        ]

    def _build_leg(self, side: int, body: Body) -> None:
        leg = self.world.CreateDynamicBody(
            position=(body.x, body.y), angle=body.angle, fixtures=LEG_FIXTURE
        )
        lower, upper = LEG_ANGLES[side]
        leg.joint = self.world.CreateRevoluteJoint(
            bodyA=self.lander,
            bodyB=leg,
            localAnchorA=(0, 0),
            localAnchorB=(side * original.LEG_AWAY / SCALE, LEG_HEIGHT),
            # Left out, it would be the angle between the bodies as they are now.
            referenceAngle=side * 0.05,
            enableMotor=True,
            enableLimit=True,
            maxMotorTorque=original.LEG_SPRING_TORQUE,
            motorSpeed=0.3 * side,
            lowerAngle=lower,
            upperAngle=upper,
        )
        self.legs.append(leg)


def _read_body(body: Any) -> Body:
    position = body.position
    velocity = body.linearVelocity
    return Body(
        position.x,
        position.y,
        body.angle,
        velocity.x,
        velocity.y,
        body.angularVelocity,
    )


def _shaping(values: list[float]) -> float:
    x, y, vx, vy, angle, _, left, right = values
    return (
        -100 * math.sqrt(x * x + y * y)
        - 100 * math.sqrt(vx * vx + vy * vy)
        - 100 * abs(angle)
        + 10 * left
        + 10 * right
    )
