//! Targets as people write them down: what is read, what is refused, and that nothing panics.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use evenkeel_settings::target::{Host, TargetName};
use proptest::prelude::*;

fn read(text: &str) -> TargetName {
    text.parse().unwrap_or_else(|refused| panic!("{refused}"))
}

fn refused(text: &str) -> String {
    match text.parse::<TargetName>() {
        Ok(target) => panic!("{text:?} was read as {target:?}"),
        Err(refused) => refused.to_string(),
    }
}

#[test]
fn what_the_documentation_lists_is_read() {
    let name = |name: &str| Host::Name(name.into());
    assert_eq!(read("orders:1"), TargetName::Address { host: name("orders"), port: 1 });
    assert_eq!(read("a.b-c_d.:65535").to_string(), "a.b-c_d.:65535");
    let v4 = Host::Ip(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));
    assert_eq!(read("10.0.0.1:80"), TargetName::Address { host: v4, port: 80 });
    let v6 = Host::Ip(IpAddr::V6(Ipv6Addr::LOCALHOST));
    assert_eq!(read("[::1]:80"), TargetName::Address { host: v6, port: 80 });
    assert_eq!(read("dns:///orders:443"), TargetName::Dns { host: name("orders"), port: 443 });
    assert_eq!(read("unix:/run/a.sock").to_string(), "unix:/run/a.sock");
}

/// So that one target written in two ways is one target.
#[test]
fn equal_targets_are_equal() {
    assert_eq!(read("Orders:080"), read("orders:80"));
    assert_eq!(read("[0:0::0:1]:80"), read("[::1]:80"));
    assert_eq!(read("unix:///run/a.sock"), read("unix:/run/a.sock"));
    assert_eq!(read("DNS.example:80"), read("dns.example:80"));
    assert_ne!(read("dns:///orders:80"), read("orders:80"));
    let address: SocketAddr = "[2001:db8::1]:7".parse().unwrap();
    assert_eq!(TargetName::from(address), read("[2001:DB8::1]:7"));
}

/// Each refusal says what would be right.
#[test]
fn everything_else_is_refused_by_name() {
    let cases = [
        ("", "must not be empty"),
        ("orders", "write \"orders:443\""),
        ("orders:", "write \"orders:443\""),
        ("dns:///orders", "write \"dns:///orders:443\""),
        ("[::1]", "write \"[::1]:443\""),
        ("orders:0", "1 to 65535"),
        ("orders:65536", "1 to 65535"),
        ("orders:99999999999999999999", "1 to 65535"),
        ("orders:+80", "1 to 65535"),
        ("orders:-1", "1 to 65535"),
        ("orders:8O", "1 to 65535"),
        (":80", "no name before the port"),
        ("::1:80", "in brackets"),
        ("2001:db8::1", "in brackets"),
        ("[::1:80", "in brackets"),
        ("[::1%eth0]:80", "without a zone"),
        ("[10.0.0.1]:80", "no IPv6 address"),
        ("10.0.0.256:80", "no IPv4 address"),
        ("10.0.1:80", "no IPv4 address"),
        ("7:80", "no IPv4 address"),
        ("or ders:80", "no white space"),
        ("orders:80\n", "no white space"),
        ("-orders:80", "letters, digits"),
        ("orders..internal:80", "letters, digits"),
        ("örders:80", "letters, digits"),
        ("*.orders:80", "letters, digits"),
        ("orders:80/v1", "no path"),
        ("orders/v1:80", "no path"),
        ("me@orders:80", "no user"),
        ("http://orders:80", "is a URL"),
        ("https://orders", "is a URL"),
        ("xds:///orders", "xDS channel"),
        ("passthrough:///orders:80", "not supported"),
        ("ipv4:10.0.0.1:80", "not supported"),
        ("ipv6:[::1]:80", "not supported"),
        ("vsock:1:80", "not supported"),
        ("unix-abstract:orders", "not supported"),
        ("dns:orders:80", "write \"dns:///orders:80\""),
        ("dns:/orders:80", "write \"dns:///orders:80\""),
        ("dns://8.8.8.8/orders:80", "a DNS server of its own"),
        ("unix:run/a.sock", "must be absolute"),
        ("unix:", "must be absolute"),
        ("unix:/", "must be absolute"),
        ("unix://host/a.sock", "must have no host"),
    ];
    for (text, says) in cases {
        let refused = refused(text);
        assert!(refused.contains(says), "{text:?}: {refused}");
        assert!(refused.starts_with("target "), "{refused}");
    }
}

#[test]
fn lengths_are_bounded() {
    let label = "a".repeat(63);
    assert!(format!("{label}.b:80").parse::<TargetName>().is_ok());
    assert!(format!("{label}a.b:80").parse::<TargetName>().is_err());
    let name = [&label[..]; 3].join(".");
    assert!(format!("{name}.{}:80", "a".repeat(61)).parse::<TargetName>().is_ok());
    assert!(format!("{name}.{}:80", "a".repeat(62)).parse::<TargetName>().is_err());
    assert!(format!("unix:/{}", "a".repeat(102)).parse::<TargetName>().is_ok());
    assert!(format!("unix:/{}", "a".repeat(103)).parse::<TargetName>().is_err());
    let refused = "a".repeat(1 << 20).parse::<TargetName>().unwrap_err();
    assert!(refused.to_string().len() < 400, "a megabyte is not repeated");
    assert!("a".repeat(1 << 20).starts_with(refused.text()) && refused.text().len() > 10);
    assert_eq!("a b:80".parse::<TargetName>().unwrap_err().text(), "a b:80");
}

fn host() -> impl Strategy<Value = Host> {
    prop_oneof![
        any::<Ipv4Addr>().prop_map(|address| Host::Ip(address.into())),
        any::<Ipv6Addr>().prop_map(|address| Host::Ip(address.into())),
        "([a-z][a-z0-9_]{0,10}\\.){0,3}[a-z][a-z0-9]{0,10}\\.?"
            .prop_map(|name| Host::Name(name.into())),
    ]
}

fn target() -> impl Strategy<Value = TargetName> {
    prop_oneof![
        (host(), 1..=u16::MAX).prop_map(|(host, port)| TargetName::Address { host, port }),
        (host(), 1..=u16::MAX).prop_map(|(host, port)| TargetName::Dns { host, port }),
        "/[a-z0-9._-][a-z0-9/._:@-]{0,60}".prop_map(|path| TargetName::Unix { path: path.into() }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_out_is_read_back(target in target()) {
        prop_assert_eq!(read(&target.to_string()), target);
    }

    #[test]
    fn whatever_is_read_is_written_out_and_read_back(text in "(dns:///|unix:|)[\\[a-z0-9:.%\\]/-]{0,20}") {
        if let Ok(target) = text.parse::<TargetName>() {
            prop_assert_eq!(&read(&target.to_string()), &target);
        }
    }

    #[test]
    fn garbage_never_panics(text in "\\PC{0,80}", bytes in any::<Vec<u8>>()) {
        for text in [text, String::from_utf8_lossy(&bytes).into_owned()] {
            if let Err(refused) = text.parse::<TargetName>() {
                prop_assert!(refused.to_string().starts_with("target "));
            }
        }
    }
}
