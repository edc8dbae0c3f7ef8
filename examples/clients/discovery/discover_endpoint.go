// Prints the address of the metadata service that DHCP announces (option 245).
// Usage: discover_endpoint [INTERFACE]. Run it as root on Linux. It takes no lease.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

const optionsAt = 240 // bytes before the options

var (
	cookie  = []byte{0x63, 0x82, 0x53, 0x63}
	servers = &net.UDPAddr{IP: net.IPv4bcast, Port: 67}
)

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "discover: "+format+"\n", values...)
	os.Exit(1)
}

// Returns the named interface, or the first Ethernet interface that is up.
func findInterface(name string) net.Interface {
	interfaces, err := net.Interfaces()
	if err != nil {
		fail("cannot list the network interfaces: %v", err)
	}
	for _, each := range interfaces {
		isUsable := each.Flags&net.FlagUp != 0 && len(each.HardwareAddr) == 6
		if each.Name == name || name == "" && isUsable {
			return each
		}
	}
	if name != "" {
		fail("network interface '%s' not found", name)
	}
	fail("no Ethernet interface is up; bring one up")
	panic("unreachable")
}

// Opens a UDP socket that sends and receives only through the interface.
func open(name string) (net.PacketConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			socket := int(fd)
			for _, option := range []int{syscall.SO_REUSEADDR, syscall.SO_BROADCAST} {
				if failed == nil {
					failed = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, option, 1)
				}
			}
			if failed == nil {
				failed = syscall.BindToDevice(socket, name)
			}
		})
		if err != nil {
			return err
		}
		return failed
	}}
	return config.ListenPacket(context.Background(), "udp4", ":68")
}

// Builds a DISCOVER that requests option 245, as described in RFC 2131.
func discoverMessage(transaction, mac []byte) []byte {
	message := make([]byte, 300) // relays may drop shorter ones
	copy(message, []byte{1, 1, 6, 0})
	copy(message[4:], transaction)
	message[10] = 0x80 // requests a broadcast reply
	copy(message[28:], mac)
	copy(message[236:], cookie)
	copy(message[optionsAt:], []byte{53, 1, 1, 55, 2, 1, 245, 255})
	return message
}

// Returns option 245 in an offer; nil if it is no offer or lacks the option.
func addressIn(reply, transaction, mac []byte) net.IP {
	if len(reply) < optionsAt || reply[0] != 2 ||
		!bytes.Equal(reply[4:8], transaction) ||
		!bytes.HasPrefix(reply[28:44], mac) ||
		!bytes.Equal(reply[236:optionsAt], cookie) {
		return nil
	}
	options := map[byte][]byte{}
	for rest := reply[optionsAt:]; len(rest) > 1 && rest[0] != 255; {
		if rest[0] == 0 { // padding
			rest = rest[1:]
			continue
		}
		end := 2 + int(rest[1])
		if end > len(rest) {
			return nil
		}
		options[rest[0]] = rest[2:end]
		rest = rest[end:]
	}
	if !bytes.Equal(options[53], []byte{2}) || len(options[245]) != 4 {
		return nil
	}
	return net.IP(options[245])
}

// Returns the announced address; nil if there is none.
func discover(card net.Interface, seconds int) (net.IP, error) {
	udp, err := open(card.Name)
	if err != nil {
		return nil, err
	}
	defer udp.Close()
	transaction := make([]byte, 4)
	if _, err := rand.Read(transaction); err != nil {
		return nil, err
	}
	mac := card.HardwareAddr
	reply := make([]byte, 65536)
	for attempt := 0; attempt < seconds; attempt++ { // one DISCOVER per second
		if _, err := udp.WriteTo(discoverMessage(transaction, mac), servers); err != nil {
			return nil, err
		}
		udp.SetReadDeadline(time.Now().Add(time.Second))
		for {
			size, _, err := udp.ReadFrom(reply)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return nil, err
			}
			if address := addressIn(reply[:size], transaction, mac); address != nil {
				return address, nil
			}
		}
	}
	return nil, nil
}

func main() {
	if len(os.Args) > 2 {
		fmt.Fprintln(os.Stderr, "usage: discover_endpoint [INTERFACE]")
		os.Exit(2)
	}
	wanted := os.Getenv("DISCOVER_SECONDS")
	if wanted == "" {
		wanted = "15"
	}
	if !regexp.MustCompile("^[1-9][0-9]{0,3}$").MatchString(wanted) {
		fail("DISCOVER_SECONDS must be from 1 to 9999, not '%s'", wanted)
	}
	seconds, _ := strconv.Atoi(wanted)
	name := ""
	if len(os.Args) == 2 {
		name = os.Args[1]
	}
	card := findInterface(name)
	address, err := discover(card, seconds)
	switch {
	case errors.Is(err, os.ErrPermission):
		fail("DHCP needs root; run this program as root")
	case err != nil:
		fail("cannot use DHCP on %s: %v", card.Name, err)
	case address == nil:
		fail("no DHCP server on %s announced option 245", card.Name)
	}
	fmt.Println(address)
}
