//! The numbers of the requests (`ZooDefs.OpCode`) and the xids that say what a frame is.

pub const CREATE: i32 = 1;
pub const DELETE: i32 = 2;
pub const EXISTS: i32 = 3;
pub const GET_DATA: i32 = 4;
pub const SET_DATA: i32 = 5;
pub const GET_ACL: i32 = 6;
pub const SET_ACL: i32 = 7;
pub const GET_CHILDREN: i32 = 8;
pub const SYNC: i32 = 9;
pub const PING: i32 = 11;
pub const GET_CHILDREN_2: i32 = 12;
pub const CHECK: i32 = 13;
pub const MULTI: i32 = 14;
pub const CREATE_2: i32 = 15;
pub const CHECK_WATCHES: i32 = 17;
pub const REMOVE_WATCHES: i32 = 18;
pub const CREATE_CONTAINER: i32 = 19;
pub const DELETE_CONTAINER: i32 = 20;
pub const CREATE_TTL: i32 = 21;
pub const MULTI_READ: i32 = 22;
pub const AUTH: i32 = 100;
pub const SET_WATCHES: i32 = 101;
pub const GET_EPHEMERALS: i32 = 103;
pub const GET_ALL_CHILDREN_NUMBER: i32 = 104;
pub const SET_WATCHES_2: i32 = 105;
pub const ADD_WATCH: i32 = 106;
pub const WHO_AM_I: i32 = 107;
pub const CLOSE_SESSION: i32 = -11;
/// In the results of a multi only: the operation failed.
pub const ERROR: i32 = -1;

/// The xid of a watch's notification.
pub const NOTIFICATION_XID: i32 = -1;
/// The xid of a ping and of its answer.
pub const PING_XID: i32 = -2;
/// The xid of `addAuth` and of its answer.
pub const AUTH_XID: i32 = -4;
/// The xid of SetWatches and of its answer.
pub const SET_WATCHES_XID: i32 = -8;
